// Random quantities, durations and schedules, and what Go's own libraries make
// of them: a line each, its fields separated by tabs. Usage: values SEED COUNT.
// ../values.lua compares the lines with KubeLua.
package main

import (
	"bufio"
	"fmt"
	"math/rand"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
	inf "gopkg.in/inf.v0"
	"k8s.io/apimachinery/pkg/api/resource"
)

var random *rand.Rand
var out = bufio.NewWriter(os.Stdout)

func line(fields ...string) {
	fmt.Fprintln(out, strings.Join(fields, "\t"))
}

func pick(words ...string) string {
	return words[random.Intn(len(words))]
}

func digits(most int) string {
	text := make([]byte, random.Intn(most+1))
	for i := range text {
		text[i] = byte('0' + random.Intn(10))
		if random.Intn(3) == 0 {
			text[i] = '0'
		}
	}
	return string(text)
}

func signed(most int) string {
	text := pick("", "", "", "-", "+") + digits(most)
	if random.Intn(2) == 0 {
		text += "." + digits(12)
	}
	return text
}

// --- Quantities. ---

func suffix() string {
	switch random.Intn(8) {
	case 0:
		return pick("e", "E") + pick("", "+", "-") + strconv.Itoa(random.Intn(25))
	case 1:
		return pick("", "e", "Ee3", "KiB", "i", "mi", "ki", "+3", "K", " ", "x",
			"e1.5", "Mi2", "nm")
	}
	return pick("", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi",
		"Gi", "Ti", "Pi", "Ei")
}

func quantityText() string {
	return signed(pick3(3, 8, 22)) + suffix()
}

func pick3(a, b, c int) int {
	return []int{a, b, c}[random.Intn(3)]
}

// The amount rounded away from 0: Quantity.Value has faults below 0.
func rounded(q resource.Quantity, scale inf.Scale) string {
	copied := q.DeepCopy()
	return new(inf.Dec).Round(copied.AsDec(), scale, inf.RoundUp).UnscaledBig().String()
}

// The text; "*" if it has lost its suffix, which Go leaves out above E and Ei.
func text(q resource.Quantity) string {
	written := q.String()
	back, err := resource.ParseQuantity(written)
	if err != nil || back.Cmp(q) != 0 {
		return "*"
	}
	return written
}

func quantity() {
	given := quantityText()
	q, err := resource.ParseQuantity(given)
	if err != nil {
		line("quantity", given, "refused")
		return
	}
	line("quantity", given, text(q), string(q.Format), rounded(q, 0), rounded(q, 3))
}

func validQuantity() (string, resource.Quantity) {
	for {
		given := quantityText()
		q, err := resource.ParseQuantity(given)
		if err == nil {
			return given, q
		}
	}
}

func arithmetic() {
	first, a := validQuantity()
	second, b := validQuantity()
	sum, rest, product, minus := a.DeepCopy(), a.DeepCopy(), a.DeepCopy(), a.DeepCopy()
	factor := random.Int63n(1 << uint(1+random.Intn(50)))
	if random.Intn(2) == 0 {
		factor = -factor
	}
	sum.Add(b)
	rest.Sub(b)
	product.Mul(factor)
	minus.Neg()
	line("arithmetic", first, second, strconv.Itoa(a.Cmp(b)), text(sum), text(rest),
		strconv.FormatInt(factor, 10), text(product), text(minus))
}

// --- Durations. ---

func durationText() string {
	var text strings.Builder
	text.WriteString(pick("", "", "-", "+"))
	for n := random.Intn(4); n >= 0; n-- {
		text.WriteString(strings.TrimLeft(signed(pick3(2, 4, 12)), "+-"))
		if random.Intn(9) == 0 {
			text.WriteString(digits(8))
		}
		text.WriteString(pick("ns", "us", "µs", "μs", "ms", "s", "s", "m", "m",
			"h", "h", "h", "", "d", "S"))
	}
	return text.String()
}

func duration() {
	given := durationText()
	d, err := time.ParseDuration(given)
	if err != nil {
		line("duration", given, "refused")
		return
	}
	other := time.Duration(random.Int63n(1<<uint(1+random.Intn(61)))) * 1
	sum := d + other
	told := sum.String()
	if (sum < d) != (other < 0) { // beyond 64 bits
		told = "*"
	}
	line("duration", given, d.String(), strconv.FormatFloat(d.Seconds(), 'g', 17, 64),
		other.String(), told)
}

// --- Schedules. ---

var zones = []string{"", "UTC", "Europe/Berlin", "America/New_York", "America/Sao_Paulo",
	"Asia/Kolkata", "Asia/Kathmandu", "Australia/Lord_Howe", "Australia/Sydney",
	"Africa/Casablanca", "America/St_Johns", "Asia/Gaza", "Pacific/Apia",
	"Atlantic/Azores", "Africa/Cairo", "America/Havana", "Asia/Beirut", "Etc/GMT+5",
	"America/Santiago", "Europe/Dublin", "Pacific/Chatham", "EST5EDT"}

func number(least, most int) string {
	if random.Intn(60) == 0 {
		return pick("", "-1", "99", "x", "+3", "007", "1-2-3")
	}
	return strconv.Itoa(least + random.Intn(most-least+1))
}

func field(least, most int, names ...string) string {
	name := func() string {
		if len(names) > 0 && random.Intn(3) == 0 {
			return pick(names...)
		}
		return number(least, most)
	}
	var parts []string
	for n := random.Intn(3) / 2; n >= 0; n-- {
		part := pick("*", "*", "?", "", "", "-")
		if part == "" {
			part = name()
		} else if part == "-" {
			part = name() + "-" + name()
		}
		if random.Intn(3) == 0 {
			part += "/" + number(0, most)
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ",")
}

func scheduleText() string {
	switch random.Intn(12) {
	case 0:
		return pick("@yearly", "@annually", "@monthly", "@weekly", "@daily",
			"@midnight", "@hourly", "@never", "@")
	case 1:
		return "@every " + durationText()
	case 2: // an hour that daylight saving time concerns
		return pick("0", "30", "*/20") + " " + pick("0", "1", "2", "3", "0-3", "23") +
			" * * " + pick("*", "0", "sun,mon")
	}
	months := []string{"jan", "feb", "MAR", "Apr", "may", "jun", "jul", "aug", "sep", "oct",
		"nov", "dec", "janu"}
	days := []string{"sun", "MON", "Tue", "wed", "thu", "fri", "sat"}
	return field(0, 59) + " " + field(0, 23) + " " + field(1, 31) + " " +
		field(1, 12, months...) + " " + field(0, 6, days...)
}

func schedule() {
	given := scheduleText()
	parsed, err := cron.ParseStandard(given)
	if err != nil {
		line("schedule", given, "refused")
		return
	}
	zone := pick(zones...)
	location, err := time.LoadLocation(zone)
	if err != nil {
		panic(err)
	}
	from := time.Unix(random.Int63n(90*365*86400)-86400*365*3, 0).In(location)
	if _, end := from.ZoneBounds(); random.Intn(2) == 0 && !end.IsZero() {
		from = end.Add(time.Duration(random.Intn(2*86400)-86400-43200) * time.Second)
	}
	fields := []string{"schedule", given, zone}
	for n := 0; n < 4; n++ {
		fields = append(fields, strconv.FormatInt(from.Unix(), 10))
		next, ok := nextInTime(parsed, from.In(location))
		if !ok {
			line(append(fields, "hangs")...)
			return
		} else if next.IsZero() {
			line(append(fields, "never")...)
			return
		}
		from = next
	}
	line(append(fields, strconv.FormatInt(from.Unix(), 10))...)
}

// False: robfig/cron hangs, as it does where a zone skips a whole day.
func nextInTime(parsed cron.Schedule, from time.Time) (time.Time, bool) {
	done := make(chan time.Time, 1)
	go func() { done <- parsed.Next(from) }()
	select {
	case next := <-done:
		return next, true
	case <-time.After(5 * time.Second):
		return from, false
	}
}

func main() {
	seed, _ := strconv.ParseInt(os.Args[1], 10, 64)
	count, _ := strconv.Atoi(os.Args[2])
	random = rand.New(rand.NewSource(seed))
	for n := 0; n < count; n++ {
		quantity()
		arithmetic()
		duration()
		schedule()
	}
	out.Flush()
}
