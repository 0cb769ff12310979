/** Contents of alarms.yml: CloudWatch alarms, notices of runs, their topic, and the dashboard. */
import { arnOf, CONDITIONS, ref, STACK, sub, type Value } from './describe/cloudformation.ts';

interface Alarm {
  readonly description: string;
  /** `AWS/SQS` and the like. */
  readonly namespace: string;
  readonly metric: string;
  readonly dimensions?: Readonly<Record<string, Value>>;
  readonly statistic: 'Sum' | 'Maximum';
  readonly periodSeconds: number;
  readonly periods?: number;
  readonly above?: number;
  readonly below?: number;
  /** Most metrics are absent while nothing happens. */
  readonly whenMissing?: 'notBreaching' | 'breaching';
}

const TOPIC = ref('AlarmTopic');

function alarm(given: Alarm) {
  const { above, below, periods = 1 } = given;
  return {
    Type: 'AWS::CloudWatch::Alarm',
    Properties: {
      AlarmDescription: given.description,
      Namespace: given.namespace,
      MetricName: given.metric,
      ...(given.dimensions !== undefined && {
        Dimensions: Object.entries(given.dimensions).map(([Name, value]) => ({ Name, Value: value })),
      }),
      Statistic: given.statistic,
      Period: given.periodSeconds,
      EvaluationPeriods: periods,
      ComparisonOperator: below === undefined ? 'GreaterThanThreshold' : 'LessThanThreshold',
      Threshold: below ?? above ?? 0,
      TreatMissingData: given.whenMissing ?? 'notBreaching',
      AlarmActions: [TOPIC],
      OKActions: [TOPIC],
    },
  };
}

const queueName = (id: string): Value => ({ QueueName: { 'Fn::GetAtt': [id, 'QueueName'] } });
const functionNamed = (name: string): Value => ({ FunctionName: `${STACK}-${name}` });

const deadLetters = (id: string, what: string) =>
  alarm({
    description: `${what} (dead-letter queue ${id}). docs/deploy.md says how to send them again.`,
    namespace: 'AWS/SQS',
    metric: 'ApproximateNumberOfMessagesVisible',
    dimensions: queueName(id) as Record<string, Value>,
    statistic: 'Maximum',
    periodSeconds: 300,
    above: 0,
  });

const alarms: Readonly<Record<string, Value>> = {
  ArrivalsDeadLettersAlarm: deadLetters('ArrivalsDeadLetters', 'Arrivals failed ten times'),
  TrainingEventsDeadLettersAlarm: deadLetters(
    'TrainingEventsDeadLetters',
    'Events of training jobs failed ten times',
  ),
  SpotWarningsDeadLettersAlarm: deadLetters('SpotWarningsDeadLetters', 'Spot warnings failed ten times'),
  HostStatesDeadLettersAlarm: deadLetters('HostStatesDeadLetters', 'State changes of hosts failed ten times'),
  NoticeDeliveriesDeadLettersAlarm: deadLetters(
    'NoticeDeliveriesDeadLetters',
    "Notices did not reach a declaration's topics and webhooks ten times",
  ),
  RegistriesDeadLettersAlarm: {
    Condition: CONDITIONS.registries,
    ...deadLetters('RegistriesDeadLetters', 'Model registries did not learn within a day what was decided'),
  },
  SpotWarningsAgeAlarm: alarm({
    description: 'A Spot warning waited for over a minute of the two that it leaves',
    namespace: 'AWS/SQS',
    metric: 'ApproximateAgeOfOldestMessage',
    dimensions: queueName('SpotWarningsQueue') as Record<string, Value>,
    statistic: 'Maximum',
    periodSeconds: 60,
    above: 60,
  }),
  // Lambda tries an asynchronous invocation three times: this is one sweep, or three looks.
  ReconcileFailsAlarm: alarm({
    description: 'reconcile failed three times within an hour: lost events are not made up for',
    namespace: 'AWS/Lambda',
    metric: 'Errors',
    dimensions: functionNamed('reconcile') as Record<string, Value>,
    statistic: 'Sum',
    periodSeconds: 3_600,
    above: 2,
  }),
  // The sweep runs hourly: a failure of its own comes four times in this span.
  ReconcilePartialFailuresAlarm: alarm({
    description:
      'Within four hours reconcile failed three times on single runs or pipelines: its log names them',
    namespace: 'Tidewheel',
    metric: 'PartialFailures',
    dimensions: { service: 'tidewheel', functionName: `${STACK}-reconcile` },
    statistic: 'Sum',
    periodSeconds: 14_400,
    above: 2,
  }),
  ReconcileMissingAlarm: alarm({
    description: 'reconcile was not invoked for 15 minutes; every five are due',
    namespace: 'AWS/Lambda',
    metric: 'Invocations',
    dimensions: functionNamed('reconcile') as Record<string, Value>,
    statistic: 'Sum',
    periodSeconds: 300,
    periods: 3,
    below: 1,
    whenMissing: 'breaching',
  }),
  ExecutionsFailedAlarm: alarm({
    description: 'An execution of the state machine failed: the report of its run holds the reason',
    namespace: 'AWS/States',
    metric: 'ExecutionsFailed',
    dimensions: { StateMachineArn: ref('RunStateMachine') },
    statistic: 'Sum',
    periodSeconds: 300,
    above: 0,
  }),
  // Of the whole account in this region: other functions use the same concurrency. A short burst is retried.
  ThrottlesAlarm: alarm({
    description: 'Lambda throttled functions of this account for 15 minutes: see the quota of concurrency',
    namespace: 'AWS/Lambda',
    metric: 'Throttles',
    statistic: 'Sum',
    periodSeconds: 300,
    periods: 3,
    above: 0,
  }),
  NoticesDeadLettersAlarm: deadLetters(
    'NoticesDeadLetters',
    'Notices of failed runs did not reach the alarm topic',
  ),
};

/** Failed runs and stalled checkpoints, as sentences. A message costs nothing; an alarm of its own would. */
const notices: Readonly<Record<string, Value>> = {
  NoticeRule: {
    Type: 'AWS::Events::Rule',
    Properties: {
      Description: 'Failed runs, stalled checkpoints and hung scripts, for the alarm topic',
      EventPattern: {
        source: ['tidewheel'],
        'detail-type': ['RunFailed', 'CheckpointStalled', 'ScriptHangs'],
      },
      Targets: [
        {
          Id: 'alarm-topic',
          Arn: TOPIC,
          DeadLetterConfig: { Arn: arnOf('NoticesDeadLetters') },
          InputTransformer: {
            InputPathsMap: { kind: '$.detail-type', run: '$.detail.runId', detail: '$.detail' },
            InputTemplate: '"<kind>: run <run> of Tidewheel. <detail>"',
          },
        },
      ],
    },
  },
  NoticesDeadLetters: {
    Type: 'AWS::SQS::Queue',
    Properties: { SqsManagedSseEnabled: true, MessageRetentionPeriod: 1_209_600 },
  },
  NoticesDeadLettersPolicy: {
    Type: 'AWS::SQS::QueuePolicy',
    Properties: {
      Queues: [ref('NoticesDeadLetters')],
      PolicyDocument: {
        Version: '2012-10-17',
        Statement: [
          {
            Effect: 'Allow',
            Principal: { Service: 'events.amazonaws.com' },
            Action: 'sqs:SendMessage',
            Resource: arnOf('NoticesDeadLetters'),
            Condition: { ArnEquals: { 'aws:SourceArn': arnOf('NoticeRule') } },
          },
        ],
      },
    },
  },
};

/** Without a key of its own: CloudWatch cannot send to a topic under AWS's key, and a customer key costs $1 a month. */
const topic: Readonly<Record<string, Value>> = {
  AlarmTopic: { Type: 'AWS::SNS::Topic', Properties: { DisplayName: STACK } },
  AlarmTopicPolicy: {
    Type: 'AWS::SNS::TopicPolicy',
    Properties: {
      Topics: [TOPIC],
      PolicyDocument: {
        Version: '2012-10-17',
        Statement: [
          {
            Sid: 'AlarmsOfThisAccount',
            Effect: 'Allow',
            Principal: { Service: 'cloudwatch.amazonaws.com' },
            Action: 'sns:Publish',
            Resource: TOPIC,
            Condition: { StringEquals: { 'aws:SourceAccount': ref('AWS::AccountId') } },
          },
          // EventBridge knows no condition here:
          // https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-troubleshooting.html
          {
            Sid: 'Rules',
            Effect: 'Allow',
            Principal: { Service: 'events.amazonaws.com' },
            Action: 'sns:Publish',
            Resource: TOPIC,
          },
          {
            Sid: 'TlsOnly',
            Effect: 'Deny',
            Principal: '*',
            Action: 'sns:Publish',
            Resource: TOPIC,
            Condition: { Bool: { 'aws:SecureTransport': 'false' } },
          },
        ],
      },
    },
  },
};

// The dashboard

type Metric = readonly (string | { readonly [name: string]: string })[];
const REGION = '${AWS::Region}';
const FUNCTIONS = `${STACK}-`;

const widget = (index: number, title: string, metrics: readonly Metric[], stat: string) => ({
  type: 'metric',
  x: (index % 2) * 12,
  y: Math.floor(index / 2) * 6,
  width: 12,
  height: 6,
  properties: { title, region: REGION, view: 'timeSeries', stat, period: 300, metrics },
});

const queueMetric = (id: string, metric: string): Metric => [
  'AWS/SQS',
  metric,
  'QueueName',
  `\${${id}.QueueName}`,
];
const WATCHED_FUNCTIONS = [
  'on-arrival',
  'settle',
  'pack-shards',
  'launch',
  'judge',
  'on-spot-warning',
  'reconcile',
];
const functionMetrics = (metric: string): Metric[] =>
  WATCHED_FUNCTIONS.map((name) => ['AWS/Lambda', metric, 'FunctionName', `${FUNCTIONS}${name}`]);
const executionMetrics: Metric[] = ['ExecutionsStarted', 'ExecutionsSucceeded', 'ExecutionsFailed'].map(
  (metric) => ['AWS/States', metric, 'StateMachineArn', '${RunStateMachine}'],
);
const QUEUES = [
  'ArrivalsQueue',
  'TrainingEventsQueue',
  'SpotWarningsQueue',
  'HostStatesQueue',
  'NoticeDeliveriesQueue',
];
const LETTERS = [
  'ArrivalsDeadLetters',
  'TrainingEventsDeadLetters',
  'SpotWarningsDeadLetters',
  'HostStatesDeadLetters',
  'NoticeDeliveriesDeadLetters',
  'NoticesDeadLetters',
];

/** @param registries the names of queues where registries are, or nothing */
const widgets = (registries: { readonly queues: readonly string[]; readonly letters: readonly string[] }) => [
  widget(0, 'Executions of runs', executionMetrics, 'Sum'),
  widget(
    1,
    'Messages in dead-letter queues',
    [...LETTERS, ...registries.letters].map((id) => queueMetric(id, 'ApproximateNumberOfMessagesVisible')),
    'Maximum',
  ),
  widget(
    2,
    'Age of the oldest message (s)',
    [...QUEUES, ...registries.queues].map((id) => queueMetric(id, 'ApproximateAgeOfOldestMessage')),
    'Maximum',
  ),
  widget(3, 'Errors of functions', functionMetrics('Errors'), 'Sum'),
  widget(4, 'Throttles of functions', functionMetrics('Throttles'), 'Sum'),
  widget(5, 'Longest duration (ms)', functionMetrics('Duration'), 'Maximum'),
];

const body = (...registries: Parameters<typeof widgets>): Value =>
  sub(JSON.stringify({ widgets: widgets(...registries) }));

/** Up to fifty metrics: CloudWatch gives three such dashboards free of charge. */
const dashboard: Value = {
  Type: 'AWS::CloudWatch::Dashboard',
  Properties: {
    DashboardName: STACK,
    DashboardBody: {
      'Fn::If': [
        CONDITIONS.registries,
        body({ queues: ['RegistriesQueue'], letters: ['RegistriesDeadLetters'] }),
        body({ queues: [], letters: [] }),
      ],
    },
  },
};

export const alarmsDocument: Value = {
  Resources: { ...topic, ...alarms, ...notices, Dashboard: dashboard },
  Outputs: { AlarmTopicArn: { Value: TOPIC } },
};
