"""A running kube-apiserver of spec/cluster, as the scripts that read facts off
it see it: `Server(DIR)`, DIR being that of `spec/cluster/cluster.sh start`."""
import json
import re
import ssl
import urllib.error
import urllib.request


# Kinds that the simulator leaves out, as a regular expression for types and plurals.
LEFT_OUT = re.compile(
    r"(mutating|validating)admissionpolic|csi(driver|node|storagecapacity|storagecapacities)"
    r"|volume(attachment|attributesclass)|networking\.v1\.(ipaddress|servicecidr)|^(ipaddresses|servicecidrs)$"
    r"|device(class|taint)|resource(claim|slice)|flowschema|prioritylevelconfig", re.IGNORECASE)


class Server:
    def __init__(self, folder):
        env = dict(line.strip().split("=", 1) for line in open(folder + "/env"))
        self.url, self.token = env["SERVER"], env["TOKEN"]
        self.tls = ssl.create_default_context(cafile=env["CA"])

    def call(self, method, path, body=None, accept="application/json"):
        """The status and what is answered: bytes, if it is asked for no JSON."""
        read = json.load if "json" in accept else lambda reply: reply.read()
        request = urllib.request.Request(self.url + path, method=method)
        request.add_header("Authorization", "Bearer " + self.token)
        request.add_header("Accept", accept)
        if body is not None:
            patch = "merge-patch+" if method == "PATCH" else ""
            request.add_header("Content-Type", "application/%sjson" % patch)
            request.data = json.dumps(body).encode()
        try:
            with urllib.request.urlopen(request, context=self.tls) as reply:
                return reply.status, read(reply)
        except urllib.error.HTTPError as error:
            return error.code, read(error)
