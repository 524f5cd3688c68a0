{{- /* The options of a JVM, from typed values. Takes {root, jvm}. */ -}}
{{- define "alluxio.javaOptions" -}}
{{- $planned := (include "alluxio.planned" .root | fromYaml).jvm -}}
{{- $flags := join " " $planned.flags | replace "{collector}" .jvm.collector -}}
{{- $flags = $flags | replace "{heap}" (include "alluxio.mebibytes" (dict "quantity" .jvm.heap "suffix" "")) -}}
{{- $flags = $flags | replace "{direct}" (include "alluxio.mebibytes" (dict "quantity" .jvm.direct "suffix" "")) -}}
{{- $log := "" -}}
{{- range $planned.gcLog -}}{{- if ge (int $.root.Values.image.java) (int .from) -}}{{- $log = .flag -}}{{- end -}}{{- end -}}
{{ join " " (concat (list $flags $log) .jvm.extra) }}
{{- end }}

{{- /* What a pod's Java memory may not do, one sentence per line. Takes {root, path, jvm, limit, also: {what: quantity}}. */ -}}
{{- define "alluxio.javaRefusals" -}}
{{- $java := int .root.Values.image.java -}}
{{- $sum := add (include "alluxio.bytes" .jvm.heap | int64) (include "alluxio.bytes" .jvm.direct | int64) (include "alluxio.bytes" .jvm.overhead | int64) -}}
{{- $parts := list (printf "heap %s" .jvm.heap) (printf "direct %s" .jvm.direct) (printf "overhead %s" .jvm.overhead) -}}
{{- range $what, $quantity := .also -}}
{{- $sum = add $sum (include "alluxio.bytes" $quantity | int64) -}}
{{- $parts = append $parts (printf "%s %s" $what $quantity) -}}
{{- end -}}
{{- $mebibytes := div (add $sum 1048575) 1048576 -}}
{{- if gt $sum (include "alluxio.bytes" .limit | int64) }}
{{ .path }}.resources.limits.memory is {{ .limit }}, but {{ join " + " $parts }} = {{ $mebibytes }}Mi: write at least {{ $mebibytes }}Mi there, or lower one of the parts
{{- end -}}
{{- if and (eq .jvm.collector "ConcMarkSweep") (ge $java 14) }}
{{ .path }}.jvm.collector ConcMarkSweep is gone since Java 14, and image.java is {{ $java }}: write G1
{{- end -}}
{{- if and (eq .jvm.collector "Z") (lt $java 15) }}
{{ .path }}.jvm.collector Z needs Java 15, and image.java is {{ $java }}: write G1
{{- end -}}
{{- range .jvm.extra -}}
{{- if regexMatch "^-Xm[sx]|MaxDirectMemorySize|(Max|Initial)HeapSize|(Max|Initial|Min)RAMPercentage|^-XX:[+]Use[A-Za-z0-9]+GC$" . }}
{{ $.path }}.jvm.extra holds {{ . }}: write it as {{ $.path }}.jvm.heap, direct or collector, which are checked against the limit
{{- else if and (ge $java 9) (regexMatch "PrintGC(Date|Time)Stamps|PrintGCDetails|UseCGroupMemoryLimitForHeap|UseGCLogFileRotation|^-Xloggc" .) }}
{{ $.path }}.jvm.extra holds {{ . }}, with which Java {{ $java }} does not start: remove it (garbage collection is logged already)
{{- else if regexMatch "^-D(s3a|aws|fs[.]oss|alluxio)[.]" . }}
{{ $.path }}.jvm.extra holds the property {{ regexFind "[^-D][^=]*" . }}: write it under properties, or as a Secret if it is one
{{- end -}}
{{- end -}}
{{- end }}
