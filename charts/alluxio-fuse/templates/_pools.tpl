{{- /* Nodes that are unlike: workers and FUSE of the release itself, and of each entry of `pools`. */ -}}

{{- /* Sets `.roots`: the root, and for each pool one whose values have the pool's own on top; `.Pool` is its name. Takes {root}; prints nothing. */ -}}
{{- define "alluxio.pools" -}}
{{- $root := .root -}}
{{- $roots := list -}}
{{- range $pool := prepend .root.Values.pools (dict "name" "") -}}
{{- $values := dict -}}
{{- range $key, $value := $root.Values -}}{{- $_ := set $values $key $value -}}{{- end -}}
{{- range $key := list "worker" "jobWorker" "fuse" "stage" -}}
{{- $_ := set $values $key (mergeOverwrite (deepCopy (get $root.Values $key)) (deepCopy (default dict (get $pool $key)))) -}}
{{- end -}}
{{- $datasets := list -}}
{{- range $dataset := $root.Values.datasets -}}
{{- $own := dict -}}
{{- range $key, $value := $dataset -}}{{- $_ := set $own $key $value -}}{{- end -}}
{{- with get (default dict $pool.datasets) $dataset.name -}}{{- $_ := set $own "fuse" . -}}{{- end -}}
{{- $datasets = append $datasets $own -}}
{{- end -}}
{{- $_ := set $values "datasets" $datasets -}}
{{- $roots = append $roots (dict "Pool" $pool.name "Values" $values "Release" $root.Release "Chart" $root.Chart "Files" $root.Files "Capabilities" $root.Capabilities "Template" $root.Template) -}}
{{- end -}}
{{- $_ := set . "roots" $roots -}}
{{- end }}

{{- /* The component of a kind of pods, in a pool with its name, so that no selector matches pods of another one. Takes {root, kind}. */ -}}
{{- define "alluxio.component" -}}
{{ .kind }}{{ with .root.Pool }}.{{ . }}{{ end }}
{{- end }}

{{- /* The components of a kind in all pools, as a YAML list. Takes {root, kind}. */ -}}
{{- define "alluxio.components" -}}
{{- $kind := .kind -}}
- {{ $kind }}
{{- range .root.Values.pools }}
- {{ $kind }}.{{ .name }}
{{- end }}
{{- end }}

{{- /* Name of the object of a component. Takes {root, kind}. */ -}}
{{- define "alluxio.componentName" -}}
{{ include "alluxio.fullname" .root }}-{{ include "alluxio.component" . | replace "." "-" }}
{{- end }}

{{- /* What pools may not say, and what each may not that the release itself may. */ -}}
{{- define "alluxio.poolRefusals" -}}
{{- $nodes := dict "root" . }}{{ include "alluxio.pools" $nodes }}
{{- $same := include "alluxio.nodeRefusals" . | splitList "\n" }}
{{- $datasets := include "alluxio.datasetNames" . | fromYamlArray }}
{{- $names := dict }}
{{- if and .Values.pools (eq .Values.worker.kind "StatefulSet") }}
pools: each has workers of its own nodes, and worker.kind is StatefulSet: write worker.kind DaemonSet, or remove pools
{{- end }}
{{- range $index, $pool := .Values.pools }}
{{- $at := printf "pools[%d] (%s)" $index $pool.name }}
{{- if hasKey $names $pool.name }}
{{ $at }}: the name is taken by pools[{{ get $names $pool.name }}]: each pool has a name of its own
{{- end }}
{{- $_ := set $names $pool.name $index }}
{{- range $name, $_ := $pool.datasets }}
{{- if not (has $name $datasets) }}
{{ $at }}: datasets holds {{ $name }}, which is no dataset: write one of {{ join ", " $datasets | default "none, datasets is empty" }}
{{- end }}
{{- end }}
{{- end }}
{{- $objects := dict }}
{{- range $number, $root := $nodes.roots }}
{{- $at := printf "pools[%d] (%s)" (sub $number 1 | int) $root.Pool }}
{{- if $root.Pool }}
{{- range include "alluxio.nodeRefusals" $root | splitList "\n" }}
{{- if not (has . $same) }}
{{ $at }}: {{ . }}
{{- end }}
{{- end }}
{{- end }}
{{- range $kind := prepend $datasets "" }}
{{- $kind = ternary (printf "fuse-%s" $kind) "worker" (ne $kind "") }}
{{- $name := include "alluxio.componentName" (dict "root" $root "kind" $kind) }}
{{- if hasKey $objects $name }}
{{ $at }}: DaemonSet {{ $name }} is {{ get $objects $name }}'s, too: write another name
{{- end }}
{{- $_ := set $objects $name (ternary $at "the release" (ne $root.Pool "")) }}
{{- if and $root.Pool (gt (len $name) 63) }}
{{ $at }}: the name {{ $name }} is longer than 63 characters: shorten the pool's, the dataset's or the release's name
{{- end }}
{{- end }}
{{- range $other := slice $nodes.roots 0 $number }}
{{- $whose := ternary (printf "pool %s" $other.Pool) "the release itself" (ne $other.Pool "") }}
{{- range $kind := list "worker" "fuse" }}
{{- $mine := get $root.Values $kind }}
{{- $theirs := get $other.Values $kind }}
{{- $apart := or (not (empty $mine.affinity)) (not (empty $theirs.affinity)) }}
{{- range $key, $value := $mine.nodeSelector }}
{{- if and (hasKey $theirs.nodeSelector $key) (ne $value (get $theirs.nodeSelector $key)) }}{{ $apart = true }}{{ end }}
{{- end }}
{{- if not $apart }}
{{ $at }}: its {{ $kind }}.nodeSelector does not keep it off nodes of {{ $whose }}, which would get two: write another value of a label that both select by
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- range $index, $dataset := .Values.datasets }}
{{- range $key := list "nodeSelector" "affinity" }}
{{- if and $.Values.pools (hasKey (default dict $dataset.fuse) $key) }}
datasets[{{ $index }}].fuse.{{ $key }} places a dataset in all pools alike: write it as pools[].datasets.{{ $dataset.name }}.{{ $key }}, and as fuse.{{ $key }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
