{{- /* The site file of a component: every line of it. Takes {root, component, dataset (of fuse)}. */ -}}
{{- define "alluxio.properties" -}}
{{- $values := .root.Values -}}
{{- $fuse := dict -}}
{{- if .dataset -}}{{- $fuse = include "alluxio.datasetFuse" . | fromYaml -}}{{- end -}}
{{- $own := dict
  "master" $values.master.properties "job-master" $values.jobMaster.properties
  "worker" $values.worker.properties "job-worker" $values.jobWorker.properties
  "fuse" (default dict $fuse.properties) "mounts" dict -}}
{{- $planned := include "alluxio.plannedProperties" . | fromYaml -}}
{{- $derived := include (printf "alluxio.derived.%s" .component) . | fromYaml -}}
{{- $shared := include "alluxio.derived.shared" . | fromYaml -}}
{{- range $key, $amount := mergeOverwrite dict $planned $values.properties (get $own .component) $shared $derived }}
{{ $key }}={{ $amount }}
{{- end }}
{{- end }}

{{- /* The planner's properties under the conditions of this release. `plain` has those of a promise and of copies only, `planned` none. Takes {root, component, dataset}. */ -}}
{{- define "alluxio.plannedProperties" -}}
{{- $holds := include "alluxio.conditions" . | splitList "," -}}
{{- $profile := .root.Values.profile -}}
{{- $made := dict -}}
{{- range get (include "alluxio.planned" .root | fromYaml).properties .component -}}
{{- $applies := or (eq $profile "tuned") (and (eq $profile "plain") (or (has "within" .when) (has "writable" .when) (has "staged" .when))) -}}
{{- range .when -}}{{- if not (has . $holds) -}}{{- $applies = false -}}{{- end -}}{{- end -}}
{{- if $applies -}}{{- $made = mergeOverwrite $made .set -}}{{- end -}}
{{- end -}}
{{- $text := toYaml $made -}}
{{- if .dataset -}}{{- $text = include "alluxio.withLayers" (dict "root" .root "dataset" .dataset "text" $text) -}}{{- end -}}
{{ $text }}
{{- end }}

{{- define "alluxio.conditions" -}}
{{- $holds := list (ternary "oneMaster" "quorum" (eq (int .root.Values.master.replicas) 1)) -}}
{{- with .dataset -}}
{{- $fuse := include "alluxio.datasetFuse" $ | fromYaml -}}
{{- $holds = append $holds (ternary "within" "immutable" (ne (include "alluxio.datasetWithin" $) "0")) -}}
{{- if $fuse.clientCache.enabled -}}{{- $holds = append $holds "clientCache" -}}{{- end -}}
{{- if .credentials -}}{{- $holds = append $holds "credentials" -}}{{- end -}}
{{- if .writable -}}{{- $holds = append $holds "writable" -}}{{- end -}}
{{- if .stage -}}{{- $holds = append $holds "staged" -}}{{- end -}}
{{- end -}}
{{ join "," $holds }}
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
