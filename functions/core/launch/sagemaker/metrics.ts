/**
 * The metrics that SageMaker reads from the log. The agent prints lines such as
 * `tidewheel step=120 total=480 loss=0.1234 accuracy=0.97`
 * https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_MetricDefinition.html
 */

/** A finite decimal number. SageMaker publishes the first group of a definition. */
const NUMBER = '([-+]?[0-9]*[.]?[0-9]+(?:[eE][-+]?[0-9]+)?)';

/** Fields after the step. The space before the name separates loss from val_loss. */
const FIELDS = ['total', 'loss', 'accuracy'] as const;

/** Each host prints every minute: `[tidewheel] usage host=algo-1 cpu_percent=93.1 data_wait_percent=12`. */
const USAGE = [
  'cpu_percent',
  'memory_bytes',
  'gpu_percent',
  'gpu_memory_percent',
  'data_wait_percent',
  'disk_read_bytes_per_second',
  'network_received_bytes_per_second',
  // Of all training processes of the host, over the minute.
  'samples_per_second',
  'step_seconds',
  'step_seconds_p95',
] as const;

/** The host that saves prints: `[tidewheel] checkpoint age_seconds=60 step=120 size_bytes=48211 save_seconds=1.2`. */
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
  // Published only during a stall of checkpoints, so that an alarm can use it.
  { Name: 'tidewheel:checkpoint_stalled_seconds', Regex: `no new complete checkpoint for ${NUMBER} s` },
];
