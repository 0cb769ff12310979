/** How a Lambda function is described: `functions/handlers/<name>/function.ts`, beside its handler. */
import parallelPackers from '../../functions/run/parallel-packers.json' with { type: 'json' };
import { arn, arnOf, type CONDITIONS, ref, STACK, type Value } from './cloudformation.ts';
import type { PolicyStatement } from './permissions.ts';

export interface FunctionDescription {
  readonly description: string;
  /** At most 900: Lambda's newest model takes 1,800, which not every region has yet. A task of the state machine may take ten seconds longer than its function. */
  readonly timeoutSeconds: number;
  /** Lambda gives processor time in proportion: 1769 MB are one core. Absent: 512. */
  readonly memoryMegabytes?: number;
  /** A stack without this parameter has neither the function nor its role. Absent: every stack has them. */
  readonly onlyWith?: keyof typeof CONDITIONS;
  readonly environment?: Readonly<Record<string, Value>>;
  /** What its role may do, beside writing its own log. */
  readonly permissions: readonly PolicyStatement[];
  readonly events?: readonly Value[];
  readonly layers?: Value;
  /** Files that go into the package beside the bundle. */
  readonly files?: readonly string[];
}

/** For functions that start or find executions. An ARN in text: a reference to the state machine would be a circle. */
export const stateMachine = { TIDEWHEEL_STATE_MACHINE_ARN: arn('states', `stateMachine:${STACK}-run`) };
export const eventBus = { TIDEWHEEL_EVENT_BUS: 'default' };
export const scheduleVariables = {
  TIDEWHEEL_SCHEDULE_GROUP: ref('ScheduleGroup'),
  TIDEWHEEL_SCHEDULE_ROLE_ARN: arnOf('ScheduleRole'),
  TIDEWHEEL_ARRIVALS_QUEUE_ARN: arnOf('ArrivalsQueue'),
};
/**
 * V8's young generation stays at 16 MB. Measured for packing in docs/research/benchmarks.md and for placement in
 * docs/research/simulator.md.
 */
export const youngGeneration = { NODE_OPTIONS: '--max-semi-space-size=16' };

/** How many items of a plan are packed side by side; `functions/aws/shared/config.ts` checks it. */
export const packers = { TIDEWHEEL_PACKERS: `\${param:packers, '${parallelPackers.default}'}` };

/** For functions that check declarations (serverless/notifications.yml). */
export const notifiedMarker = {
  TIDEWHEEL_NOTIFIED_MARKER: "${self:custom.notifiedMarker.${param:notify, 'objects'}}",
};

export const account = { TIDEWHEEL_ACCOUNT: ref('AWS::AccountId') };

/** What declarations may name; `functions/aws/shared/config.ts` reads it, `functions/run/ingest/allowed.ts` says it. */
export const allowedNames = {
  ...account,
  TIDEWHEEL_SUBNETS: "${param:subnets, ''}",
  TIDEWHEEL_SECURITY_GROUPS: "${param:securityGroups, ''}",
  TIDEWHEEL_IMAGE_ACCOUNTS: "${param:imageAccounts, ''}",
  TIDEWHEEL_SHARED_PREFIXES: "${param:sharedPrefixes, ''}",
  TIDEWHEEL_PACKAGE_INDEX_ARN: "${param:packageIndexSecret, ''}",
  TIDEWHEEL_PACKAGE_INDEX_REPOSITORY: "${param:packageIndexRepository, ''}",
  TIDEWHEEL_REGISTRIES: "${param:registries, ''}",
};

/** Who may call the API for people, by claims of their tokens (`functions/api/shared/people.ts`). */
export const people = {
  TIDEWHEEL_OPERATORS: "${param:oidcOperators, ''}",
  TIDEWHEEL_VIEWERS: "${param:oidcViewers, ''}",
};

interface Batch {
  readonly batchSize: number;
  readonly maximumBatchingWindow?: number;
  /** Invocations side by side. A flood of messages must leave concurrent executions to the other functions. */
  readonly maximumConcurrency: number;
}

/** Messages of a queue; those that fail come back alone. */
export const queue = (id: string, batch: Batch): Value => ({
  sqs: { arn: arnOf(id), ...batch, functionResponseType: 'ReportBatchItemFailures' },
});
/** @param rate such as `5 minutes` */
export const every = (rate: string, input: Value): Value => ({ schedule: { rate: `rate(${rate})`, input } });
/** @param route such as `GET /pipelines`; callers sign with their IAM identity */
export function route(route: string): Value {
  const [method = '', path = ''] = route.split(' ');
  return { httpApi: { method, path, authorizer: { type: 'aws_iam' } } };
}
