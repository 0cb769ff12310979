/**
 * What SageMaker reads from the log as metrics. The agent prints lines such as
 * `tidewheel step=120 total=480 loss=0.1234 accuracy=0.97`
 * https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_MetricDefinition.html
 */

/** A finite decimal number; the first group of a definition is the value that is published. */
const NUMBER = '([-+]?[0-9]*[.]?[0-9]+(?:[eE][-+]?[0-9]+)?)';

/** Fields that follow the step; the blank before the name keeps val_loss out of loss. */
const FIELDS = ['total', 'loss', 'accuracy'] as const;

export const metricDefinitions = (): { Name: string; Regex: string }[] => [
  { Name: 'tidewheel:step', Regex: `tidewheel step=${NUMBER}` },
  ...FIELDS.map((field) => ({
    Name: `tidewheel:${field}`,
    Regex: `tidewheel step=[0-9]+.* ${field}=${NUMBER}`,
  })),
];
