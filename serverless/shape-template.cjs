/** What the parameters change in the packaged template. Pure: it returns another template. */

const { addPeopleApi } = require('./people-api.cjs');

const resourcesOf = (template, type) =>
  Object.entries(template.Resources).filter(([, resource]) => resource.Type === type);

const without = (record, ...names) =>
  Object.fromEntries(Object.entries(record).filter(([name]) => !names.includes(name)));

/** @returns the template with other properties for one resource */
function change(template, id, edit) {
  const resource = template.Resources[id];
  const Properties = { ...resource.Properties, ...edit(resource.Properties) };
  return { ...template, Resources: { ...template.Resources, [id]: { ...resource, Properties } } };
}

const changeAll = (template, type, edit) =>
  resourcesOf(template, type).reduce((changed, [id]) => change(changed, id, edit), template);

const isOwnTopic = (action) => action.Ref === 'AlarmTopic';

/** Messages go to a topic of the user, whose policy lets CloudWatch and EventBridge publish. */
function useTopic(template, arn) {
  const replaced = (actions) => actions.map((action) => (isOwnTopic(action) ? arn : action));
  const alarms = changeAll(template, 'AWS::CloudWatch::Alarm', ({ AlarmActions, OKActions }) => ({
    AlarmActions: replaced(AlarmActions),
    OKActions: replaced(OKActions),
  }));
  const rules = change(alarms, 'NoticeRule', ({ Targets }) => ({
    Targets: Targets.map((target) => (isOwnTopic(target.Arn) ? { ...target, Arn: arn } : target)),
  }));
  return {
    ...rules,
    Resources: without(rules.Resources, 'AlarmTopic', 'AlarmTopicPolicy'),
    Outputs: { ...rules.Outputs, AlarmTopicArn: { Value: arn } },
  };
}

const subscribe = (template, address) =>
  change(template, 'AlarmTopic', () => ({ Subscription: [{ Protocol: 'email', Endpoint: address }] }));

const TRACED = ['lambda.amazonaws.com', 'states.amazonaws.com'];
const X_RAY = [
  'xray:PutTraceSegments',
  'xray:PutTelemetryRecords',
  'xray:GetSamplingRules',
  'xray:GetSamplingTargets',
];

/** Functions and executions send traces to X-Ray. X-Ray's actions know no resource. */
function trace(template) {
  const functions = changeAll(template, 'AWS::Lambda::Function', () => ({ TracingConfig: { Mode: 'Active' } }));
  const machines = changeAll(functions, 'AWS::StepFunctions::StateMachine', () => ({
    TracingConfiguration: { Enabled: true },
  }));
  return changeAll(machines, 'AWS::IAM::Role', ({ AssumeRolePolicyDocument, Policies }) => {
    const isTraced = AssumeRolePolicyDocument.Statement.some(({ Principal }) => TRACED.includes(Principal.Service));
    return isTraced ? { Policies: [...Policies, grant('trace', X_RAY, '*')] } : {};
  });
}

const grant = (name, actions, resource) => ({
  PolicyName: name,
  PolicyDocument: {
    Version: '2012-10-17',
    Statement: [{ Effect: 'Allow', Action: actions, Resource: resource }],
  },
});

const changeBucket = (template, edit) => change(template, 'DataBucket', edit);

/** Versions that were replaced or deleted stay for 30 days. */
const keepVersions = (template) =>
  changeBucket(template, ({ LifecycleConfiguration }) => ({
    VersioningConfiguration: { Status: 'Enabled' },
    LifecycleConfiguration: {
      Rules: [
        ...LifecycleConfiguration.Rules,
        {
          Id: 'replaced-versions',
          Status: 'Enabled',
          ExpiredObjectDeleteMarker: true,
          NoncurrentVersionExpiration: { NoncurrentDays: 30 },
        },
      ],
    },
  }));

const asList = (value) => (Array.isArray(value) ? value : [value]);
const LAUNCH = 'LaunchLambdaFunction';
const POLICIES = ['AWS::IAM::Role', 'AWS::IAM::ManagedPolicy'];

/** S3 uses the key in the name of the reader or writer, so each of their roles needs it, through S3 alone. */
function encrypt(template, key) {
  const statement = {
    Effect: 'Allow',
    Action: ['kms:Decrypt', 'kms:GenerateDataKey'],
    Resource: key,
    Condition: { StringEquals: { 'kms:ViaService': { 'Fn::Sub': 's3.${AWS::Region}.${AWS::URLSuffix}' } } },
  };
  const isOnObjects = ({ Effect, Action }) =>
    Effect === 'Allow' && asList(Action).some((action) => /^s3:(Get|Put)Object$/.test(action));
  const extended = (document) =>
    document.Statement.some(isOnObjects) ? { ...document, Statement: [...document.Statement, statement] } : document;
  const bucket = changeBucket(template, () => ({
    BucketEncryption: {
      ServerSideEncryptionConfiguration: [
        // A key for the bucket, not for each object, spares almost all requests to KMS.
        { BucketKeyEnabled: true, ServerSideEncryptionByDefault: { SSEAlgorithm: 'aws:kms', KMSMasterKeyID: key } },
      ],
    },
  }));
  // Models are written by SageMaker, under AWS's key unless the job names another.
  const launch = change(bucket, LAUNCH, ({ Environment }) => ({
    Environment: { Variables: { ...Environment.Variables, TIDEWHEEL_KMS_KEY: key } },
  }));
  return POLICIES.reduce(
    (made, type) =>
      changeAll(made, type, ({ Policies, PolicyDocument }) => ({
        ...(Policies && { Policies: Policies.map((each) => ({ ...each, PolicyDocument: extended(each.PolicyDocument) })) }),
        ...(PolicyDocument && { PolicyDocument: extended(PolicyDocument) }),
      })),
    launch,
  );
}

const bucketArn = (name) => `arn:\${AWS::Partition}:s3:::${name}`;
const tableArn = (name) => `arn:\${AWS::Partition}:dynamodb:\${AWS::Region}:\${AWS::AccountId}:table/${name}`;

/** A bucket or table that exists takes the place of the stack's own in every reference. */
function adopt(template, id, { name, arn, dependants }) {
  const Resources = without(template.Resources, id, ...dependants);
  const replaced = (value) => {
    if (Array.isArray(value)) return value.map(replaced);
    if (typeof value !== 'object' || value === null) return value;
    if (value.Ref === id) return name;
    const got = value['Fn::GetAtt'];
    if (got !== undefined && got[0] === id) return { 'Fn::Sub': arn };
    const text = value['Fn::Sub'];
    if (typeof text === 'string')
      return { 'Fn::Sub': text.replaceAll(`\${${id}.Arn}`, arn).replaceAll(`\${${id}}`, name) };
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, replaced(inner)]));
  };
  return replaced({ ...template, Resources });
}

/** The notifications of a foreign bucket are its owner's, so its arrivals come through EventBridge. */
const arrivalRule = (Description, detailType, key) => ({
  Type: 'AWS::Events::Rule',
  Properties: {
    Description,
    EventPattern: {
      source: ['aws.s3'],
      'detail-type': [detailType],
      detail: { bucket: { name: [{ Ref: 'DataBucket' }] }, object: { key } },
    },
    Targets: [
      {
        Id: 'arrivals',
        Arn: { 'Fn::GetAtt': ['ArrivalsQueue', 'Arn'] },
        DeadLetterConfig: { Arn: { 'Fn::GetAtt': ['ArrivalsDeadLetters', 'Arn'] } },
      },
    ],
  },
});
const DECLARATIONS = { wildcard: 'pipelines/*.yaml' };
const arrivalRules = {
  ArrivalRule: arrivalRule('Data under an incoming prefix, and declarations of pipelines', 'Object Created', [
    { wildcard: '*/incoming/*' },
    DECLARATIONS,
  ]),
  DeclarationRule: arrivalRule('Declarations that are deleted', 'Object Deleted', [DECLARATIONS]),
};
const ARRIVALS = ['ArrivalsQueue', 'ArrivalsDeadLetters'];
const arrivalQueuePolicy = {
  Queues: ARRIVALS.map((id) => ({ Ref: id })),
  PolicyDocument: {
    Version: '2012-10-17',
    Statement: [
      {
        Effect: 'Allow',
        Principal: { Service: 'events.amazonaws.com' },
        Action: 'sqs:SendMessage',
        Resource: ARRIVALS.map((id) => ({ 'Fn::GetAtt': [id, 'Arn'] })),
        Condition: {
          ArnEquals: { 'aws:SourceArn': Object.keys(arrivalRules).map((id) => ({ 'Fn::GetAtt': [id, 'Arn'] })) },
        },
      },
    ],
  },
};

function adoptBucket(template, name) {
  const events = change(template, 'ArrivalsQueuePolicy', () => arrivalQueuePolicy);
  return adopt(
    { ...events, Resources: { ...events.Resources, ...arrivalRules } },
    'DataBucket',
    { name, arn: bucketArn(name), dependants: ['DataBucketPolicy'] },
  );
}
const adoptTable = (template, name) => adopt(template, 'Table', { name, arn: tableArn(name), dependants: [] });

/** @param parameters a value for each: `withDefaults` of parameters.cjs */
function shapeTemplate(template, parameters) {
  const { alarmEmail, alarmTopic, bucket, dashboard, kmsKey, table, tracing, versioning } = parameters;
  const people = { issuer: parameters.oidcIssuer, audience: parameters.oidcAudience };
  const steps = [
    [dashboard === 'no', (made) => ({ ...made, Resources: without(made.Resources, 'Dashboard') })],
    [alarmTopic !== '', (made) => useTopic(made, alarmTopic)],
    [alarmEmail !== '' && alarmTopic === '', (made) => subscribe(made, alarmEmail)],
    [people.issuer !== '', (made) => addPeopleApi(made, people)],
    [tracing === 'yes', trace],
    [versioning === 'yes', keepVersions],
    [kmsKey !== '', (made) => encrypt(made, kmsKey)],
    [bucket !== '', (made) => adoptBucket(made, bucket)],
    [table !== '', (made) => adoptTable(made, table)],
  ];
  return steps.reduce((made, [applies, step]) => (applies ? step(made) : made), template);
}

module.exports = { shapeTemplate };
