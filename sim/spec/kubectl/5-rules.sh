# A simulator that honours RBAC: what others may. Sourced by kubectl.sh.
stop_simulator
start_simulator --rbac
real=
namespace=default
expect "the administrator may" 0 '^yes' auth can-i delete nodes
expect "others may not" 1 '^no' auth can-i list pods --as=jane
expect "others are refused" 1 'User "jane" cannot list resource "pods"' get \
    pods --as=jane
expect "a role for others" 0 'created' create role reader --verb=get,list \
    --resource=pods
expect "bound to them" 0 'created' create rolebinding readers --role=reader \
    --user=jane
expect "now they may" 0 '^yes' auth can-i list pods --as=jane
expect "what they may" 0 '^pods .*\[get list\]' auth can-i --list --as=jane
expect "they read" 0 'No resources found' get pods --as=jane
expect "they do not write" 1 'cannot create resource' create configmap a \
    --as=jane
expect "who they are" 0 'jane' auth whoami --as=jane
