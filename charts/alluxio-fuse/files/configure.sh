# Fills /conf (in memory): the image's own files, the site file, and the CAs to trust.
set -euo pipefail
umask 027
cp -r --no-preserve=mode,ownership "${ALLUXIO_HOME:-/opt/alluxio}/conf/." /conf/
cp /config/alluxio-site.properties /conf/alluxio-site.properties

# At INFO, the master logs the options of a mount, keys included.
echo 'log4j.logger.alluxio.master.file.meta.MountTable=WARN' >>/conf/log4j.properties
# Probes run from here: a pod that is left to its readers keeps the scripts that it began with.
cp /scripts/fuse-live.sh /scripts/fuse-ready.sh /conf/

if grep -q ' /journal ' /proc/self/mountinfo; then
  # The root of Alluxio's namespace: an empty folder, below which datasets are mounted.
  mkdir -p /journal/namespace
  # A backup to begin with. Its first step may be done already, where a start was cut off.
  if [ -e /journal/restore.gz ]; then
    [ ! -e /journal/journal ] || mv -T /journal/journal "/journal/journal-$(date -u +%Y-%m-%dT%H-%M-%SZ)"
    mv -T /journal/restore.gz /journal/restored.gz
  fi
  if [ -e /journal/restored.gz ]; then
    # Alluxio reads it where the journal is new, and only then.
    echo alluxio.master.journal.init.from.backup=file:///journal/restored.gz >>/conf/alluxio-site.properties
  fi
fi
if [ -e /password/rpc-password ]; then
  # Services ask for it, and clients have it from here.
  cp /password/rpc-password /conf/
fi
if [ -e /trust/ca.crt ]; then
  # The image adds these to what its JVMs trust.
  cp /trust/ca.crt /conf/ca.pem
fi
