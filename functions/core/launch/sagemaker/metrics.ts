/**
 * What SageMaker reads from the log as metrics. The agent prints lines such as
 * `tidewheel step=120 total=480 loss=0.1234 accuracy=0.97`
 * https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_MetricDefinition.html
 */

/** A finite decimal number; the first group of a definition is the value that is published. */
const NUMBER = '([-+]?[0-9]*[.]?[0-9]+(?:[eE][-+]?[0-9]+)?)';

/** Fields that follow the step; the blank before the name keeps val_loss out of loss. */
const FIELDS = ['total', 'loss', 'accuracy'] as const;

/** Of each host, every minute: `[tidewheel] usage host=algo-1 cpu_percent=93.1 data_wait_percent=12`. */
const USAGE = [
  'cpu_percent',
  'memory_bytes',
  'gpu_percent',
  'gpu_memory_percent',
  'data_wait_percent',
  'disk_read_bytes_per_second',
  'network_received_bytes_per_second',
] as const;

/** Of the host that saves: `[tidewheel] checkpoint age_seconds=60 step=120 size_bytes=48211 save_seconds=1.2`. */
const CHECKPOINT = ['age_seconds', 'save_seconds'] as const;

export const metricDefinitions = (): { Name: string; Regex: string }[] => [
  { Name: 'tidewheel:step', Regex: `tidewheel step=${NUMBER}` },
  ...FIELDS.map((field) => ({
    Name: `tidewheel:${field}`,
    Regex: `tidewheel step=[0-9]+.* ${field}=${NUMBER}`,
  })),
  ...USAGE.map((field) => ({
    Name: `tidewheel:${field}`,
    Regex: `\\[tidewheel\\] usage host=.* ${field}=${NUMBER}`,
  })),
  ...CHECKPOINT.map((field) => ({
    Name: `tidewheel:checkpoint_${field}`,
    Regex: `\\[tidewheel\\] checkpoint .*${field}=${NUMBER}`,
  })),
  // Only while checkpoints have stopped coming: alarm on it.
  { Name: 'tidewheel:checkpoint_stalled_seconds', Regex: `no new complete checkpoint for ${NUMBER} s` },
];
