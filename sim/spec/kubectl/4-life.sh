# A simulator with controllers: rollouts end, pods run. The real server here has
# no controllers. Sourced by kubectl.sh.
stop_simulator
start_simulator --controllers
real=
namespace=default
expect "a deployment for life" 0 'created' create deployment web \
    --image=web:1 --replicas=3
expect "it is rolled out" 0 'successfully rolled out' rollout status \
    deployment/web --timeout=20s
expect "it is available" 0 'condition met' wait deployment/web \
    --for=condition=Available --timeout=20s
expect "its pods run" 0 '1/1 +Running' get pods -l app=web
expect "its deployment is ready" 0 '^web +3/3 +3 +3' get deployment web
expect "it is scaled, alive" 0 'scaled' scale deployment web --replicas=5
expect "it is rolled out once more" 0 'successfully rolled out' rollout \
    status deployment/web --timeout=20s
expect "another image" 0 'updated' set image deployment/web web=web:2
expect "it is rolled out anew" 0 'successfully rolled out' rollout status \
    deployment/web --timeout=20s
expect "it has two revisions" 0 '^2 ' rollout history deployment/web
expect "nodes are ready" 0 ' Ready ' get nodes
expect "its pods are deleted with it" 0 'deleted' delete deployment web \
    --cascade=foreground --timeout=20s
expect "a job for life" 0 'created' create job once --image=a -- true
expect "it completes" 0 'condition met' wait job/once \
    --for=condition=Complete --timeout=20s
expect "a namespace for life" 0 'created' create namespace gone
expect "is deleted with all in it" 0 'deleted' delete namespace gone \
    --timeout=20s
