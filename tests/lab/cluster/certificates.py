"""A certificate authority, and each component's certificate and kubeconfig."""

import base64
import datetime
import ipaddress
import os
from pathlib import Path

import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

PEM = serialization.Encoding.PEM


def write(path: Path, content: str | bytes) -> None:
    """A file that only its owner reads. What is so already is not touched: kube-proxy ends when its file is written."""
    wanted = content if isinstance(content, bytes) else content.encode()
    if path.exists() and path.read_bytes() == wanted:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(wanted)


class Authority:
    """The cluster's authority, kept in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        if not (folder / "ca.crt").exists():
            key = _new_key(folder / "ca.key")
            write(folder / "ca.crt", _certificate("lab CA", "", (), key, None).public_bytes(PEM))
            _service_account(folder)
        self.key = serialization.load_pem_private_key((folder / "ca.key").read_bytes(), None)
        self.certificate = x509.load_pem_x509_certificate((folder / "ca.crt").read_bytes())

    def issue(self, path: Path, name: str, group: str = "", hosts: tuple[str, ...] = ()) -> None:
        """Writes PATH.crt and PATH.key for a user, or for a server at hosts, unless they are there."""
        if not path.with_suffix(".crt").exists():
            key = _new_key(path.with_suffix(".key"))
            issued = _certificate(name, group, hosts, key, self)
            write(path.with_suffix(".crt"), issued.public_bytes(PEM))

    def kubeconfig(self, path: Path, server: str, name: str, group: str = "") -> None:
        """Writes a kubeconfig that holds all it needs, unless it is there."""
        if path.exists():
            return
        user = self.folder / "users" / name.replace(":", "-")
        self.issue(user, name, group)
        user_files = {
            "client-certificate-data": user.with_suffix(".crt"),
            "client-key-data": user.with_suffix(".key"),
        }
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [
                {
                    "name": "lab",
                    "cluster": {
                        "server": f"https://{server}",
                        "certificate-authority-data": _base64(self.folder / "ca.crt"),
                    },
                }
            ],
            "users": [{"name": "lab", "user": {key: _base64(file) for key, file in user_files.items()}}],
            "contexts": [{"name": "lab", "context": {"cluster": "lab", "user": "lab"}}],
            "current-context": "lab",
        }
        write(path, yaml.safe_dump(config))


def _base64(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()


def _new_key(path: Path) -> ec.EllipticCurvePrivateKey:
    key = ec.generate_private_key(ec.SECP256R1())
    form = serialization.PrivateFormat.PKCS8
    write(path, key.private_bytes(PEM, form, serialization.NoEncryption()))
    return key


def _service_account(folder: Path) -> None:
    key = rsa.generate_private_key(65537, 2048)
    form = serialization.PrivateFormat.TraditionalOpenSSL
    write(folder / "service-account.key", key.private_bytes(PEM, form, serialization.NoEncryption()))
    public = key.public_key().public_bytes(PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    write(folder / "service-account.pub", public)


def _certificate(
    name: str, group: str, hosts: tuple[str, ...], key: ec.EllipticCurvePrivateKey, issuer: Authority | None
) -> x509.Certificate:
    parts = [x509.NameAttribute(NameOID.COMMON_NAME, name)]
    if group:
        parts.insert(0, x509.NameAttribute(NameOID.ORGANIZATION_NAME, group))
    subject = x509.Name(parts)
    now = datetime.datetime.now(datetime.UTC)
    signer = issuer.key if issuer else key
    built = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer.certificate.subject if issuer else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=30))
        .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
        # Python 3.13 and newer verify strictly: no certificate without these two.
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False)
    )
    if issuer:
        usage = [ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH]
        built = built.add_extension(x509.ExtendedKeyUsage(usage), critical=False)
    else:
        signs = {"key_cert_sign": True, "crl_sign": True, "digital_signature": True}
        others = ("content_commitment", "key_encipherment", "data_encipherment", "key_agreement", "encipher_only")
        usage_of_ca = x509.KeyUsage(**signs, **dict.fromkeys((*others, "decipher_only"), False))
        built = built.add_extension(usage_of_ca, critical=True)
    if hosts:
        built = built.add_extension(x509.SubjectAlternativeName([_host(one) for one in hosts]), critical=False)
    return built.sign(signer, hashes.SHA256())


def _host(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
