{{- /* The datasets with their defaults, as a YAML list. What follows takes one of them, as {root, dataset}. */ -}}
{{- define "alluxio.datasets" -}}
{{- $datasets := list -}}
{{- range .Values.datasets -}}
{{- $defaults := dict "source" "" "writable" false "freshness" "immutable" "readers" (dict "uid" 0 "gid" 0 "mode" "0755") "claims" list -}}
{{- $dataset := mergeOverwrite $defaults . -}}
{{- if $dataset.stage -}}
{{- $_ := set $dataset "mountParent" (dict "path" (include "alluxio.stagedFrom" (dict "root" $ "dataset" $dataset)) "uid" 0 "gid" 0 "mode" "0700") -}}
{{- end -}}
{{- $datasets = append $datasets $dataset -}}
{{- end -}}
{{ toYaml $datasets }}
{{- end }}

{{- /* fuse.*, with the dataset's own on top, as YAML. A byte that is staged needs no client cache. */ -}}
{{- define "alluxio.datasetFuse" -}}
{{- $staged := ternary (dict "clientCache" (dict "enabled" false)) dict (hasKey .dataset "stage") -}}
{{ mergeOverwrite (deepCopy .root.Values.fuse) $staged (deepCopy (default dict .dataset.fuse)) | toYaml }}
{{- end }}

{{- define "alluxio.datasetUri" -}}
{{- if .dataset.source -}}
{{ .dataset.source | trimSuffix "/" }}
{{- else -}}
file://{{ include "alluxio.datasetFolder" .dataset }}
{{- end -}}
{{- end }}

{{- /* Where pods see the volume of a dataset: another volume is in another folder, so that no cache takes it for the former. */ -}}
{{- define "alluxio.datasetFolder" -}}
/sources/{{ .name }}.{{ omit .volume "marker" | toJson | sha256sum | trunc 8 }}
{{- end }}

{{- define "alluxio.datasetParent" -}}
{{ include "alluxio.mountRoot" .root }}/{{ .dataset.name }}
{{- end }}

{{- /* The folder above a dataset's FUSE mount, as YAML {path, uid, gid, mode}: that which readers enter, or one out of their way. */ -}}
{{- define "alluxio.datasetMountParent" -}}
{{ default (merge (dict "path" (include "alluxio.datasetParent" .)) .dataset.readers) .dataset.mountParent | toYaml }}
{{- end }}

{{- /* Seconds of the freshness promise; 0 when immutable. What is written to changes, so that it has a promise in any case. */ -}}
{{- define "alluxio.datasetWithin" -}}
{{- if hasPrefix "within: " .dataset.freshness -}}
{{ include "alluxio.seconds" (trimPrefix "within: " .dataset.freshness) }}
{{- else -}}
{{ ternary (include "alluxio.planned" .root | fromYaml).freshness.writable 0 .dataset.writable }}
{{- end -}}
{{- end }}

{{- /* A text with the seconds of a promise for `{sync}`, `{metadata}` and `{kernel}`: they add up to it. Takes {root, dataset, text}. */ -}}
{{- define "alluxio.withLayers" -}}
{{- $within := include "alluxio.datasetWithin" . | int64 -}}
{{- $part := div $within (include "alluxio.planned" .root | fromYaml).freshness.parts -}}
{{ .text | replace "{sync}" (toString $part) | replace "{metadata}" (sub (sub $within $part) $part | toString) | replace "{kernel}" (toString $part) }}
{{- end }}

{{- /* Mount options: as given, none too, or the planner's. */ -}}
{{- define "alluxio.datasetMountOptions" -}}
{{- $fuse := include "alluxio.datasetFuse" . | fromYaml -}}
{{- $options := $fuse.mountOptions -}}
{{- if kindIs "invalid" $options -}}
{{- $kind := ternary "writable" (ternary "immutable" "within" (eq (include "alluxio.datasetWithin" .) "0")) .dataset.writable -}}
{{- $served := ternary "clientCache" "workers" $fuse.clientCache.enabled -}}
{{- $case := printf "libfuse%d %s %s %s" (int $fuse.libfuse) $kind $served .root.Values.image.kind -}}
{{- $options = get (include "alluxio.planned" .root | fromYaml).mountOptions $case -}}
{{- end -}}
{{ include "alluxio.withLayers" (dict "root" .root "dataset" .dataset "text" (join "," $options)) }}
{{- end }}

{{- /* Options of the nested mount that are no secret, as YAML. */ -}}
{{- define "alluxio.datasetOptions" -}}
{{- $options := dict -}}
{{- if hasPrefix "s3://" .dataset.source -}}
{{- $_ := set $options "alluxio.underfs.s3.inherit.acl" "false" -}}
{{- $_ := set $options "alluxio.underfs.s3.default.mode" (ternary "0755" "0555" .dataset.writable) -}}
{{- end -}}
{{- with .dataset.s3 -}}
{{- if .endpoint -}}{{- $_ := set $options "alluxio.underfs.s3.endpoint" .endpoint -}}{{- end -}}
{{- if .region -}}{{- $_ := set $options "alluxio.underfs.s3.endpoint.region" .region -}}{{- end -}}
{{- if .pathStyle -}}{{- $_ := set $options "alluxio.underfs.s3.disable.dns.buckets" "true" -}}{{- end -}}
{{- if .anonymous -}}{{- $options = merge $options (include "alluxio.planned" $.root | fromYaml).unsigned -}}{{- end -}}
{{- end -}}
{{- with .dataset.oss -}}
{{- $_ := set $options "fs.oss.endpoint" .endpoint -}}
{{- $_ := set $options "fs.oss.region" .region -}}
{{- $_ := set $options "alluxio.underfs.oss.default.mode" "0555" -}}
{{- end -}}
{{ mergeOverwrite $options (default dict .dataset.options) | toYaml }}
{{- end }}

{{- /* Options whose amount is in the dataset's Secret: {option: key in the Secret}, as YAML. */ -}}
{{- define "alluxio.datasetSecrets" -}}
{{- with .dataset.credentials -}}
{{- if hasPrefix "oss://" $.dataset.source }}
fs.oss.accessKeyId: {{ .accessKey }}
fs.oss.accessKeySecret: {{ .secretKey }}
{{- else }}
s3a.accessKeyId: {{ .accessKey }}
s3a.secretKey: {{ .secretKey }}
{{- end -}}
{{- end -}}
{{- end }}

{{- /* What Alluxio is told to mount: the file that files/mounts.sh reads. */ -}}
{{- define "alluxio.datasetMount" -}}
uri={{ include "alluxio.datasetUri" . }}
readonly={{ not .dataset.writable }}
{{- range $key, $amount := include "alluxio.datasetOptions" . | fromYaml }}
option={{ $key }}={{ $amount }}
{{- end }}
{{- range $key, $file := include "alluxio.datasetSecrets" . | fromYaml }}
secret={{ $key }}={{ $file }}
{{- end }}
{{- with dig "securityToken" "" (default dict .dataset.credentials) }}
optional-secret=fs.oss.securityToken={{ . }}
{{- end }}
{{- end }}
