// Package gateway runs Gateway API's conformance suite; gateway.sh starts it.
package gateway

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/gateway-api/conformance"
	"sigs.k8s.io/gateway-api/conformance/tests"
	"sigs.k8s.io/gateway-api/conformance/utils/kubernetes"
	"sigs.k8s.io/gateway-api/conformance/utils/suite"
	"sigs.k8s.io/gateway-api/pkg/features"
)

// Everything is on this machine: what has not come after this time does not come.
const patience = 30 * time.Second

// The features that are tested are those which the GatewayClass claims in its
// status; the suite reads them there.
func TestGateway(t *testing.T) {
	options := conformance.DefaultOptions(t)
	known := &pods{client: options.Client, known: map[string]*pod{}}
	startEcho(t, known)
	options.RestConfig.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return &logs{pods: known, next: next}
	})
	options.CleanupBaseResources = false // the cluster ends with the run
	waits := &options.TimeoutConfig
	for _, wait := range []*time.Duration{&waits.CreateTimeout, &waits.GatewayMustHaveAddress,
		&waits.GatewayMustHaveCondition, &waits.GatewayStatusMustHaveListeners,
		&waits.GatewayListenersMustHaveConditions, &waits.ListenerSetMustHaveCondition,
		&waits.ListenerSetListenersMustHaveConditions, &waits.GWCMustBeAccepted,
		&waits.HTTPRouteMustNotHaveParents, &waits.HTTPRouteMustHaveCondition,
		&waits.RouteMustHaveParents, &waits.NamespacesMustBeReady,
		&waits.LatestObservedGenerationSet, &waits.DefaultTestTimeout} {
		*wait = patience
	}
	kubernetes.GWCMustHaveAcceptedConditionTrue(t, options.Client, *waits, options.GatewayClassName)
	if !claimsFeatures(t, options) {
		options.SupportedFeatures = append(options.SupportedFeatures, features.SupportGateway)
	}
	conformance.RunConformanceWithOptions(t, options)
}

// claimsFeatures: without any, core alone is tested.
func claimsFeatures(t *testing.T, options suite.ConformanceOptions) bool {
	var class gatewayv1.GatewayClass
	key := client.ObjectKey{Name: options.GatewayClassName}
	if err := options.Client.Get(t.Context(), key, &class); err != nil {
		t.Fatal(err)
	}
	return len(class.Status.SupportedFeatures) > 0
}

var profiles = []suite.ConformanceProfile{
	suite.GatewayHTTPConformanceProfile, suite.GatewayGRPCConformanceProfile}

// listTests prints a line for each test of a profile: the profile, core or
// extended, the test, and its features.
func listTests() {
	for _, profile := range profiles {
		for _, test := range tests.ConformanceTests {
			level := "core"
			names := []string{}
			for _, feature := range test.Features {
				names = append(names, string(feature))
				switch {
				case profile.CoreFeatures.Has(feature):
				case !profile.ExtendedFeatures.Has(feature):
					level = ""
				case level == "core":
					level = "extended"
				}
			}
			if level != "" {
				fmt.Println(profile.Name, level, test.ShortName, strings.Join(names, " "))
			}
		}
	}
}
