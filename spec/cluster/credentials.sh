# Certificates, tokens and kubeconfigs of one cluster; sourced by cluster.sh.

# make_pki: ca, server and admin (crt and key), and the service-account pair.
make_pki() {
    cat >"$dir/pki.cnf" <<CNF
[req]
distinguished_name = name
prompt = no
[name]
CN = kubelua-cluster
[ca]
basicConstraints = critical,CA:TRUE
keyUsage = critical,keyCertSign,cRLSign,digitalSignature
subjectKeyIdentifier = hash
[server]
keyUsage = critical,digitalSignature
extendedKeyUsage = serverAuth
subjectAltName = IP:127.0.0.1,DNS:localhost,DNS:kubernetes.default.svc
[client]
keyUsage = critical,digitalSignature
extendedKeyUsage = clientAuth
CNF
    new_key ca
    openssl req -config "$dir/pki.cnf" -x509 -key "$dir/ca.key" -days 30 \
        -extensions ca -out "$dir/ca.crt"
    sign server server /CN=kube-apiserver 1
    sign admin client /O=system:masters/CN=admin 2
    openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048 \
        -out "$dir/service-account.key" 2>/dev/null
    openssl pkey -in "$dir/service-account.key" -pubout \
        -out "$dir/service-account.pub"
}

new_key() {
    openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 \
        -out "$dir/$1.key" 2>/dev/null
}

# sign NAME EXTENSIONS SUBJECT SERIAL
sign() {
    new_key "$1"
    openssl req -config "$dir/pki.cnf" -new -key "$dir/$1.key" -subj "$3" |
        openssl x509 -req -CA "$dir/ca.crt" -CAkey "$dir/ca.key" \
            -set_serial "$4" -days 30 -extfile "$dir/pki.cnf" \
            -extensions "$2" -out "$dir/$1.crt" 2>/dev/null
}

base64url() {
    base64 | tr -d '\n=' | tr '+/' '-_'
}

# service_token NAMESPACE NAME UID SECONDS: a service account's token, refused
# after that time: kube-apiserver lets one in for a minute after it has expired.
# Those that it makes itself live for 10 minutes at least.
service_token() {
    now=$(date +%s)
    head=$(printf '{"alg":"RS256","typ":"JWT"}' | base64url)
    issuer=https://kubernetes.default.svc
    claims=$(printf '{"iss":"%s","aud":["%s"],"iat":%d,"nbf":%d,"exp":%d,' \
        $issuer $issuer $((now - 90)) $((now - 90)) $((now + $4 - 60)))
    claims=$(printf '%s"sub":"system:serviceaccount:%s:%s",' "$claims" "$1" "$2")
    claims=$(printf '%s"kubernetes.io":{"namespace":"%s",' "$claims" "$1")
    claims=$(printf '%s"serviceaccount":{"name":"%s","uid":"%s"}}}' "$claims" \
        "$2" "$3" | base64url)
    printf '%s.%s.%s\n' "$head" "$claims" "$(printf '%s.%s' "$head" "$claims" |
        openssl dgst -sha256 -sign "$dir/service-account.key" | base64url)"
}

random_token() {
    od -An -N16 -tx1 /dev/urandom | tr -d ' \n'
}

# write_tokens: the static token file; kube-apiserver reads it once, at start.
write_tokens() {
    {
        echo "$TOKEN,admin-token,admin-token,system:masters"
        echo "$NOBODY_TOKEN,nobody,nobody"
    } >"$dir/tokens.csv"
}

# inline FILE: base64 on one line.
inline() {
    base64 <"$1" | tr -d '\n'
}

# kubeconfig SERVER USER-LINES: to stdout.
kubeconfig() {
    cat <<YAML
apiVersion: v1
kind: Config
current-context: kubelua
clusters:
- name: kubelua
  cluster:
    server: $1
    certificate-authority-data: $(inline "$dir/ca.crt")
contexts:
- name: kubelua
  context: {cluster: kubelua, user: kubelua, namespace: default}
users:
- name: kubelua
  user:
$2
YAML
}

# write_kubeconfigs: one for each way of getting in, and of being kept out.
write_kubeconfigs() {
    admin="    client-certificate-data: $(inline "$dir/admin.crt")
    client-key-data: $(inline "$dir/admin.key")"
    kubeconfig "$SERVER" "$admin" >"$dir/kubeconfig"
    kubeconfig "$SERVER" "    token: $TOKEN" >"$dir/kubeconfig-token"
    echo "$TOKEN" >"$dir/token.new"
    mv "$dir/token.new" "$dir/token"
    kubeconfig "$SERVER" "    tokenFile: $dir/token" \
        >"$dir/kubeconfig-token-file"
    kubeconfig "$SERVER" "    token: $NOBODY_TOKEN" >"$dir/kubeconfig-nobody"
    if [ -n "$PROXY" ]; then
        kubeconfig "https://$PROXY" "$admin" >"$dir/kubeconfig-proxy"
    fi
}
