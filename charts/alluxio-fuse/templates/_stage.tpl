{{- /* The pods that stage: as the playbooks say, or by `datasets[].stage` alone. */ -}}

{{- /* Folder on nodes of what the chart alone stages: copies in memory, FUSE mounts that are copied from, and what its pods know. */ -}}
{{- define "alluxio.stageFolder" -}}
{{ default (printf "/var/lib/%s/%s" .Release.Namespace (include "alluxio.fullname" .)) .Values.stage.path }}
{{- end }}

{{- /* The folder above the FUSE mount that a dataset is copied from: another source has another one, so that none is taken for the former. */ -}}
{{- define "alluxio.stagedFrom" -}}
{{ include "alluxio.stageFolder" .root }}/fuse/{{ .dataset.name }}.{{ include "alluxio.datasetUri" . | sha256sum | trunc 8 }}
{{- end }}

{{- /* Datasets that the chart alone stages, as a YAML list of what the program in their pods takes. Takes the root. */ -}}
{{- define "alluxio.stagedDatasets" -}}
{{- $datasets := list -}}
{{- range $dataset := include "alluxio.datasets" . | fromYamlArray -}}
{{- with $dataset.stage -}}
{{- $about := dict "root" $ "dataset" $dataset -}}
{{- $folder := ternary "" (printf "%s/%s/copy" (dig "hostPath" "path" "" .) $dataset.name) (eq .medium "memory") -}}
{{- $datasets = append $datasets (dict
  "name" $dataset.name
  "uri" (include "alluxio.datasetUri" $about)
  "source" (printf "%s/data" $dataset.mountParent.path)
  "path" (printf "%s/data" (include "alluxio.datasetParent" $about))
  "folder" $folder
  "size" (include "alluxio.bytes" .size | int64)
  "per_file" (get (include "alluxio.planned" $ | fromYaml).stage.perFile .medium)
  "uid" $dataset.readers.uid "gid" $dataset.readers.gid "mode" $dataset.readers.mode) -}}
{{- end -}}
{{- end -}}
{{ toYaml $datasets }}
{{- end }}

{{- /* `stage`, with what the chart alone says of its pods where datasets have a `stage`, as YAML. Takes the root. */ -}}
{{- define "alluxio.stage" -}}
{{- $stage := deepCopy .Values.stage -}}
{{- $datasets := include "alluxio.stagedDatasets" . | fromYamlArray -}}
{{- if $datasets -}}
{{- $state := include "alluxio.stageFolder" . -}}
{{- $folders := list (dict "path" $state "mountPropagation" "Bidirectional") (dict "path" (include "alluxio.mountRoot" .) "mountPropagation" "Bidirectional") -}}
{{- $paths := list -}}
{{- $memory := include "alluxio.bytes" $stage.overhead | int64 -}}
{{- range .Values.datasets -}}
{{- if .stage -}}
{{- if eq .stage.medium "memory" -}}
{{- $memory = add $memory (include "alluxio.bytes" .stage.size | int64) -}}
{{- else if and .stage.hostPath (not (has .stage.hostPath.path $paths)) -}}
{{- $folders = append $folders .stage.hostPath -}}
{{- $paths = append $paths .stage.hostPath.path -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $amount := printf "%dMi" (div (add $memory 1048575) 1048576) -}}
{{- $object := printf "/apis/apps/v1/namespaces/%s/daemonsets/%s" .Release.Namespace (include "alluxio.componentName" (dict "root" . "kind" "stage")) -}}
{{- $said := dict "state" $state "object" $object "datasets" $datasets | toJson -}}
{{- $_ := set $stage "enabled" true -}}
{{- $_ = set $stage "alone" true -}}
{{- $_ = set $stage "fuse" (include "alluxio.component" (dict "root" . "kind" (printf "fuse-%s" (first $datasets).name))) -}}
{{- $_ = set $stage "folders" $folders -}}
{{- $_ = set $stage "command" (list "-m" "ansible_collections.alluxio.fuse.plugins.module_utils.chart_stage" $said) -}}
{{- $_ = set $stage "env" (dict "PYTHONPATH" "/opt/alluxio/programs" "PYTHONDONTWRITEBYTECODE" "1") -}}
{{- $_ = set $stage "resources" (dict "requests" (dict "cpu" $stage.resources.requests.cpu "memory" $amount) "limits" (dict "memory" $amount)) -}}
{{- end -}}
{{ toYaml $stage }}
{{- end }}
