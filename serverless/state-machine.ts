/** Contents of state-machine.yml: the state machine of runs, and its role. */

import { describedFunctions } from '../functions/handlers/functions.ts';
import { machine } from '../statemachines/run.ts';
import { arn, arnOf, lambdaId, pascalCase, ref, STACK, type Value } from './describe/cloudformation.ts';
import * as allow from './describe/permissions.ts';
import { roleResource } from './roles.ts';

const definition = JSON.stringify(machine);
const placeholder = (name: string): string => `${pascalCase(name)}Arn`;
const called = describedFunctions
  .map(([name]) => name)
  .filter((name) => definition.includes(`"\${${placeholder(name)}}"`));

const role = roleResource({
  service: 'states.amazonaws.com',
  policy: 'run',
  onlyThisAccount: true,
  statements: [
    allow.statement(
      'lambda',
      ['InvokeFunction'],
      called.map((name) => arnOf(lambdaId(name))),
    ),
    allow.readObjects('*/runs/*/plan/*'),
    // As Step Functions requires for a ResultWriter, which sends large files in parts.
    allow.onObjects(
      ['PutObject', 'GetObject', 'ListMultipartUploadParts', 'AbortMultipartUpload'],
      '*/runs/*/map/*',
    ),
    // A distributed Map runs its items as child executions of this same machine.
    allow.statement('states', ['StartExecution'], [arn('states', `stateMachine:${STACK}-run`)]),
    allow.statement(
      'states',
      ['DescribeExecution', 'StopExecution'],
      [arn('states', `execution:${STACK}-run:*`)],
    ),
    // https://docs.aws.amazon.com/step-functions/latest/dg/cw-logs.html
    allow.withoutResource(
      'logs',
      'CreateLogDelivery',
      'GetLogDelivery',
      'UpdateLogDelivery',
      'DeleteLogDelivery',
      'ListLogDeliveries',
      'PutResourcePolicy',
      'DescribeResourcePolicies',
      'DescribeLogGroups',
    ),
  ],
});

export const stateMachineDocument: Value = {
  Resources: {
    RunStateMachine: {
      Type: 'AWS::StepFunctions::StateMachine',
      Properties: {
        // Named, because the functions that it calls know its ARN too: a reference would be a circle.
        StateMachineName: `${STACK}-run`,
        StateMachineType: 'STANDARD',
        RoleArn: arnOf('StateMachineRole'),
        // Errors only, and no input or output: those name what users keep in their bucket.
        LoggingConfiguration: {
          Level: 'ERROR',
          IncludeExecutionData: false,
          Destinations: [{ CloudWatchLogsLogGroup: { LogGroupArn: arnOf('RunLogGroup') } }],
        },
        Definition: '${file(statemachines/run.asl.json)}',
        DefinitionSubstitutions: {
          Bucket: ref('DataBucket'),
          Partition: ref('AWS::Partition'),
          ...Object.fromEntries(called.map((name) => [placeholder(name), arnOf(lambdaId(name))])),
        },
      },
    },
    StateMachineRole: role,
    // This prefix needs no resource policy of its own: https://docs.aws.amazon.com/step-functions/latest/dg/bp-cwl.html
    RunLogGroup: {
      Type: 'AWS::Logs::LogGroup',
      Properties: { LogGroupName: `/aws/vendedlogs/states/${STACK}-run`, RetentionInDays: 30 },
    },
  },
  Outputs: { RunStateMachineArn: { Value: ref('RunStateMachine') } },
};
