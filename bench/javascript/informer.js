// The JavaScript contender of the benchmark: keeps all pods of a server in the
// informer of @kubernetes/client-node and reports what that costs. Usage:
//     node --expose-gc informer.js SERVER stream
//     node informer.js SERVER first     prints the first pod that is added, and ends
import { CoreV1Api, KubeConfig, makeInformer } from '@kubernetes/client-node';
import { createInterface } from 'node:readline';

const [server, listing] = process.argv.slice(2);
const stamp = 'bench.example.com/written';
let wanted = -1; // of the phase: how many events; 0: a delete ends it
let delays = null; // nanoseconds, where they are wanted
let events = 0;
let sum = 0; // of the lengths of the three fields that the handler reads
let since = 0;

function usedMicroseconds() {
    const { user, system } = process.cpuUsage();
    return user + system;
}

function forget() {
    events = sum = 0;
    since = usedMicroseconds();
}

function finish() {
    const used = usedMicroseconds() - since;
    console.log(['done', used, events, sum, ...(delays ?? [])].join(' '));
    delays = null;
    wanted = -1;
}

function see(pod) {
    if (delays) {
        const now = process.hrtime.bigint(); // CLOCK_MONOTONIC, as the server's
        delays.push(Number(now - BigInt(pod.metadata.annotations[stamp])));
    }
    delete pod.metadata.managedFields;
    sum += pod.metadata.name.length + (pod.status.phase ?? '').length
        + (pod.spec.nodeName ?? '').length;
    events += 1;
    if (events === wanted) {
        finish();
    }
}

function open() {
    const config = new KubeConfig();
    config.loadFromOptions({
        clusters: [{ name: 'bench', server, skipTLSVerify: true }],
        users: [{ name: 'bench' }],
        contexts: [{ name: 'bench', cluster: 'bench', user: 'bench' }],
        currentContext: 'bench',
    });
    const core = config.makeApiClient(CoreV1Api);
    return makeInformer(config, '/api/v1/pods', () => core.listPodForAllNamespaces());
}

// Does what the other side asks for, which looks at this process from outside.
async function measure() {
    const lines = createInterface(process.stdin)[Symbol.asyncIterator]();
    globalThis.gc();
    console.log('ready 0 0 0');
    await lines.next();
    forget();
    const pods = open();
    pods.on('add', see);
    pods.on('update', see);
    pods.on('delete', finish);
    pods.on('error', (problem) => {
        console.error('informer.js:', problem);
        process.exit(1);
    });
    await pods.start();
    console.log('synced', usedMicroseconds() - since, pods.list().length, sum);
    await lines.next();
    globalThis.gc();
    globalThis.gc();
    console.log('rest 0 0 0');
    for (;;) {
        const { value, done } = await lines.next();
        const [name, count] = (value ?? '').split(' ');
        if (done || count === undefined) {
            process.exit(0);
        }
        forget();
        wanted = Number(count);
        delays = name === 'delays' ? [] : null;
        console.log('begun');
    }
}

if (listing === 'first') {
    const pods = open();
    pods.on('add', (pod) => {
        process.stdout.write(pod.metadata.name + '\n', () => process.exit(0));
    });
    await pods.start();
} else {
    await measure();
}
