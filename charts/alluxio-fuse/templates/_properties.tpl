{{- /* The site file of a component: every line of it. Takes {root, component, dataset (of fuse)}. */ -}}
{{- define "alluxio.properties" -}}
{{- $values := .root.Values -}}
{{- $fuse := dict -}}
{{- if .dataset -}}{{- $fuse = include "alluxio.datasetFuse" . | fromYaml -}}{{- end -}}
{{- $own := dict
  "master" $values.master.properties "job-master" $values.jobMaster.properties
  "worker" $values.worker.properties "job-worker" $values.jobWorker.properties
  "fuse" (default dict $fuse.properties) "mounts" dict -}}
{{- $tuned := dict -}}
{{- if eq $values.profile "tuned" -}}
{{- $sets := .root.Files.Get "files/tuned.yaml" | fromYaml -}}
{{- $tuned = mergeOverwrite $tuned $sets.all (default dict (get $sets .component)) -}}
{{- /* Starting, it would say that no file exists, and FUSE remembers that. */ -}}
{{- if and (eq .component "master") (eq (int $values.master.replicas) 1) -}}
{{- $_ := set $tuned "alluxio.standby.master.grpc.enabled" "false" -}}
{{- end -}}
{{- end -}}
{{- if and .dataset (or (eq $values.profile "tuned") (include "alluxio.datasetWithin" . | int64)) -}}
{{- $tuned = mergeOverwrite $tuned (include "alluxio.freshProperties" . | fromYaml) -}}
{{- end -}}
{{- $derived := include (printf "alluxio.derived.%s" .component) . | fromYaml -}}
{{- $shared := include "alluxio.derived.shared" . | fromYaml -}}
{{- range $key, $amount := mergeOverwrite dict $tuned $values.properties (get $own .component) $shared $derived }}
{{ $key }}={{ $amount }}
{{- end }}
{{- end }}

{{- /* How long a client may believe what it knows of a file. */ -}}
{{- define "alluxio.freshProperties" -}}
{{- $within := include "alluxio.datasetWithin" . | int64 -}}
{{- if eq $within 0 -}}
alluxio.user.metadata.cache.expiration.time: 2day
alluxio.user.file.metadata.sync.interval: "-1"
{{- /* Other keys give the mount another number, and FUSE has to be told to forget the former one. */ -}}
{{- if .dataset.credentials }}
alluxio.fuse.special.command.enabled: "true"
{{- end }}
{{- else -}}
alluxio.fuse.special.command.enabled: "true"
alluxio.user.client.cache.include.mtime: "true"
alluxio.user.metadata.cache.expiration.time: {{ max 1 (div $within 3) }}s
alluxio.user.file.metadata.sync.interval: {{ max 1 (div $within 3) }}s
{{- end -}}
{{- end }}

{{- define "alluxio.derived.shared" -}}
{{- $masters := include "alluxio.masters" .root | splitList "," -}}
{{- if eq (len $masters) 1 }}
{{- if ne .component "master" }}
alluxio.master.hostname: {{ first $masters }}
alluxio.job.master.hostname: {{ first $masters }}
{{- end }}
{{- else }}
alluxio.master.rpc.addresses: {{ join ":19998," $masters }}:19998
alluxio.job.master.rpc.addresses: {{ join ":20001," $masters }}:20001
{{- end }}
{{- if .root.Values.rpcPassword.secret }}
alluxio.security.authentication.type: CUSTOM
alluxio.security.authentication.custom.provider.class: alluxio.image.Password
{{- end }}
alluxio.web.ui.enabled: "false"
{{- /* Without the UI, its REST API goes on showing names, contents and logs. */}}
alluxio.web.file.info.enabled: "false"
{{- end }}

{{- define "alluxio.derived.master" -}}
{{- $masters := include "alluxio.masters" .root | splitList "," -}}
alluxio.master.journal.folder: /journal/journal
alluxio.master.metastore.dir: /metastore
alluxio.master.mount.table.root.ufs: /journal/namespace
{{- if eq (len $masters) 1 }}
alluxio.master.journal.type: UFS
alluxio.master.hostname: {{ first $masters }}
alluxio.job.master.hostname: {{ first $masters }}
{{- else }}
alluxio.master.journal.type: EMBEDDED
alluxio.master.embedded.journal.addresses: {{ join ":19200," $masters }}:19200
{{- end }}
{{- end }}

{{- define "alluxio.derived.job-master" -}}
{{- $masters := include "alluxio.masters" .root | splitList "," -}}
{{- if gt (len $masters) 1 }}
alluxio.master.journal.type: EMBEDDED
alluxio.job.master.embedded.journal.addresses: {{ join ":20003," $masters }}:20003
{{- else }}
alluxio.master.journal.type: UFS
{{- end }}
alluxio.master.journal.folder: /journal/job
{{- end }}

{{- define "alluxio.derived.worker" -}}
{{- include "alluxio.tierProperties" .root }}
{{- if .root.Values.shortCircuit.enabled }}
alluxio.worker.data.server.domain.socket.address: /sockets
alluxio.worker.data.server.domain.socket.as.uuid: "true"
{{- end }}
{{- end }}

{{- define "alluxio.derived.job-worker" -}}
{}
{{- end }}

{{- define "alluxio.derived.fuse" -}}
{{- $fuse := include "alluxio.datasetFuse" . | fromYaml -}}
alluxio.fuse.jnifuse.libfuse.version: {{ $fuse.libfuse | quote }}
alluxio.fuse.web.enabled: "true"
alluxio.security.login.username: alluxio
alluxio.user.client.cache.enabled: {{ $fuse.clientCache.enabled | quote }}
alluxio.user.file.readtype.default: {{ $fuse.readType }}
{{- if .dataset.writable }}
alluxio.user.file.writetype.default: CACHE_THROUGH
{{- end }}
alluxio.user.short.circuit.enabled: {{ .root.Values.shortCircuit.enabled | quote }}
{{- if $fuse.clientCache.enabled }}
alluxio.user.client.cache.dirs: /client-cache/{{ .dataset.name }}
alluxio.user.client.cache.page.size: {{ include "alluxio.mebibytes" (dict "quantity" $fuse.clientCache.pageSize "suffix" "MB") }}
alluxio.user.client.cache.size: {{ include "alluxio.mebibytes" (dict "quantity" $fuse.clientCache.size "suffix" "MB") }}
alluxio.user.client.cache.store.type: LOCAL
{{- end }}
{{- if .root.Values.shortCircuit.enabled }}
alluxio.worker.data.server.domain.socket.address: /sockets
alluxio.worker.data.server.domain.socket.as.uuid: "true"
{{- end }}
{{- end }}

{{- define "alluxio.derived.mounts" -}}
{}
{{- end }}
