{{- /* Amounts of memory and time. */ -}}

{{- /* A quantity (1Gi, 512Mi, 10G, 1024) in bytes. */ -}}
{{- define "alluxio.bytes" -}}
{{- $units := dict "" 1 "k" 1000 "M" 1000000 "G" 1000000000 "T" 1000000000000 "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 "Ti" 1099511627776 -}}
{{- $number := regexFind "^[0-9]+" (toString .) -}}
{{ mul (int64 $number) (get $units (trimPrefix $number (toString .))) }}
{{- end }}

{{- /* A quantity as Alluxio and the JVM read it: whole mebibytes, with the given suffix. Takes {quantity, suffix}. */ -}}
{{- define "alluxio.mebibytes" -}}
{{ div (include "alluxio.bytes" .quantity | int64) 1048576 }}{{ .suffix }}
{{- end }}

{{- /* A claim's size for so much payload: 12 % more, as ext4 keeps 5 % for root, and a little for itself. */ -}}
{{- define "alluxio.withFilesystem" -}}
{{ div (add (mul (include "alluxio.bytes" . | int64) 112) 104857599) 104857600 }}Mi
{{- end }}

{{- /* A volume's size for so much payload: 5 % more, for folders and half-filled pages. */ -}}
{{- define "alluxio.withSlack" -}}
{{ div (add (mul (include "alluxio.bytes" . | int64) 105) 104857599) 104857600 }}Mi
{{- end }}

{{- /* A duration (90s, 10m, 2h, 1d) in seconds. */ -}}
{{- define "alluxio.seconds" -}}
{{- $number := regexFind "^[0-9]+" . -}}
{{ mul (int64 $number) (get (dict "s" 1 "m" 60 "h" 3600 "d" 86400) (trimPrefix $number .)) }}
{{- end }}
