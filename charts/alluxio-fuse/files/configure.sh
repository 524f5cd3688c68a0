# Fills /conf (in memory): the image's own files, the site file, and the JVM's trusted CAs with those of /trust added.
set -euo pipefail
umask 027
cp -r --no-preserve=mode,ownership "${ALLUXIO_HOME:-/opt/alluxio}/conf/." /conf/
cp /config/alluxio-site.properties /conf/alluxio-site.properties

if grep -q ' /journal ' /proc/self/mountinfo; then
  # The root of Alluxio's namespace: an empty folder, below which datasets are mounted.
  mkdir -p /journal/namespace
fi

if [ -e /trust/ca.crt ]; then
  home=$(java -XshowSettings:properties -version 2>&1 | sed -n 's/^ *java.home = //p')
  cp "$(readlink -f "$home/lib/security/cacerts")" /conf/cacerts
  chmod u+w /conf/cacerts
  # keytool reads one certificate at a time.
  csplit --quiet --elide-empty-files --prefix=/tmp/ca- /trust/ca.crt '/-----BEGIN CERTIFICATE-----/' '{*}'
  for certificate in /tmp/ca-*; do
    grep -q 'BEGIN CERTIFICATE' "$certificate" || continue
    "$home/bin/keytool" -importcert -noprompt -trustcacerts -alias "$(basename "$certificate")" \
      -keystore /conf/cacerts -storepass changeit -file "$certificate"
  done
fi
