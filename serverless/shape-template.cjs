/** What the parameters change in the packaged template. Pure: it returns another template. */

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

/** @param parameters a value for each: `withDefaults` of parameters.cjs */
function shapeTemplate(template, parameters) {
  const { alarmEmail, alarmTopic, dashboard, tracing } = parameters;
  const steps = [
    [dashboard === 'no', (made) => ({ ...made, Resources: without(made.Resources, 'Dashboard') })],
    [alarmTopic !== '', (made) => useTopic(made, alarmTopic)],
    [alarmEmail !== '' && alarmTopic === '', (made) => subscribe(made, alarmEmail)],
    [tracing === 'yes', trace],
  ];
  return steps.reduce((made, [applies, step]) => (applies ? step(made) : made), template);
}

module.exports = { shapeTemplate };
