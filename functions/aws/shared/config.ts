/** The only reader of the environment: checks the values that serverless.yml gives a function and reports all problems. */

import { ConfigurationError } from '@tidewheel/kit/errors.ts';
import { check } from '@tidewheel/kit/validation.ts';
import * as z from 'zod';
import type { PeopleRoles } from '../../api/shared/people.ts';
import type { RoleKind } from '../../launch/pipeline-role.ts';
import type { Allowed } from '../../run/ingest/allowed.ts';
import parallelPackers from '../../run/parallel-packers.json' with { type: 'json' };

const policyArn = z.string().startsWith('arn:');
const rolePath = z.string().regex(/^\/(.+\/)?$/);

/** As a deployment's parameter holds it: values with commas, or nothing. */
const list = z
  .string()
  .default('')
  .transform((text) => text.split(',').flatMap((value) => value.trim() || []));

/** Claims with their values, such as `cognito:groups=ml-operators`. */
const claims = list.transform((pairs) =>
  pairs.map((pair) => {
    const at = pair.lastIndexOf('=');
    return { claim: pair.slice(0, at), value: pair.slice(at + 1) };
  }),
);

const account = z.object({ TIDEWHEEL_ACCOUNT: z.string().regex(/^\d{12}$/) });

const schemas = {
  bucket: z.object({ TIDEWHEEL_BUCKET: z.string().min(3).max(63) }),
  table: z.object({ TIDEWHEEL_TABLE: z.string().min(1) }),
  stateMachine: z.object({ TIDEWHEEL_STATE_MACHINE_ARN: z.string().startsWith('arn:') }),
  trainingRoles: z.object({
    TIDEWHEEL_TRAINING_POLICY_ARN: policyArn,
    TIDEWHEEL_TRAINING_ROLE_PATH: rolePath,
  }),
  hostRoles: z.object({ TIDEWHEEL_HOST_POLICY_ARN: policyArn, TIDEWHEEL_HOST_ROLE_PATH: rolePath }),
  hostLogGroup: z.object({ TIDEWHEEL_HOST_LOG_GROUP: z.string().min(1).max(512) }),
  kmsKey: z.object({ TIDEWHEEL_KMS_KEY: z.string().startsWith('arn:').optional() }),
  eventBus: z.object({ TIDEWHEEL_EVENT_BUS: z.string().min(1) }),
  codeFolder: z.object({ LAMBDA_TASK_ROOT: z.string().min(1) }),
  // A distributed Map runs at most 10,000 concurrent child executions.
  packers: z.object({
    TIDEWHEEL_PACKERS: z.coerce.number().int().min(parallelPackers.least).max(parallelPackers.most),
  }),
  noticesQueue: z.object({ TIDEWHEEL_NOTICES_QUEUE_URL: z.url() }),
  handOver: z.object({
    TIDEWHEEL_REGISTRIES_QUEUE_URL: z.url(),
    /** Begins the names of model package groups. */
    TIDEWHEEL_STACK: z.string().min(1),
  }),
  /** Empty where S3 notifies of every object. */
  notifiedMarker: z.object({ TIDEWHEEL_NOTIFIED_MARKER: z.string().max(100) }),
  account,
  allowed: account.extend({
    TIDEWHEEL_SUBNETS: list,
    TIDEWHEEL_SECURITY_GROUPS: list,
    TIDEWHEEL_IMAGE_ACCOUNTS: list,
    TIDEWHEEL_SHARED_PREFIXES: list,
    TIDEWHEEL_PACKAGE_INDEX_ARN: z.string().default(''),
    TIDEWHEEL_PACKAGE_INDEX_REPOSITORY: z.string().default(''),
    TIDEWHEEL_REGISTRIES: z.string().default(''),
  }),
  people: z.object({ TIDEWHEEL_OPERATORS: claims, TIDEWHEEL_VIEWERS: claims }),
  signIn: z.object({
    TIDEWHEEL_OIDC_ISSUER: z.url(),
    TIDEWHEEL_OIDC_AUDIENCE: list,
    TIDEWHEEL_OIDC_SCOPES: z.string().min(1),
  }),
  plan: z.object({
    TIDEWHEEL_STAGE: z.string().min(1),
    /** Physical names by logical ones, as JSON. */
    TIDEWHEEL_TRIED_ROLES: z
      .string()
      .transform((text): unknown => JSON.parse(text))
      .pipe(z.record(z.string(), z.string())),
  }),
  region: z.object({ AWS_REGION: z.string().min(1) }),
  schedules: z.object({
    TIDEWHEEL_SCHEDULE_GROUP: z.string().min(1),
    TIDEWHEEL_SCHEDULE_ROLE_ARN: z.string().startsWith('arn:'),
    TIDEWHEEL_ARRIVALS_QUEUE_ARN: z.string().startsWith('arn:'),
  }),
} as const;

function read<T>(schema: z.ZodType<T>): T {
  const checked = check(schema, process.env, 'hidden');
  if (checked.ok) return checked.value;
  const problems = checked.problems.map(({ path, message }) => `${path}: ${message}`);
  throw new ConfigurationError(
    `set these in the function's environment (serverless.yml): ${problems.join('; ')}`,
  );
}

/** Each value is read at its first use, so that a function needs only the values that it uses. */
export const config = {
  bucket: () => read(schemas.bucket).TIDEWHEEL_BUCKET,
  table: () => read(schemas.table).TIDEWHEEL_TABLE,
  stateMachineArn: () => read(schemas.stateMachine).TIDEWHEEL_STATE_MACHINE_ARN,
  trainingRoles: (): RoleKind => {
    const values = read(schemas.trainingRoles);
    return { policyArn: values.TIDEWHEEL_TRAINING_POLICY_ARN, path: values.TIDEWHEEL_TRAINING_ROLE_PATH };
  },
  hostRoles: (): RoleKind => {
    const values = read(schemas.hostRoles);
    return { policyArn: values.TIDEWHEEL_HOST_POLICY_ARN, path: values.TIDEWHEEL_HOST_ROLE_PATH };
  },
  hostLogGroup: () => read(schemas.hostLogGroup).TIDEWHEEL_HOST_LOG_GROUP,
  /** The customer key of the data bucket; undefined where it has none. */
  kmsKey: () => read(schemas.kmsKey).TIDEWHEEL_KMS_KEY,
  eventBus: () => read(schemas.eventBus).TIDEWHEEL_EVENT_BUS,
  codeFolder: () => read(schemas.codeFolder).LAMBDA_TASK_ROOT,
  noticesQueueUrl: () => read(schemas.noticesQueue).TIDEWHEEL_NOTICES_QUEUE_URL,
  handOver: () => read(schemas.handOver),
  packers: () => read(schemas.packers).TIDEWHEEL_PACKERS,
  notifiedMarker: () => read(schemas.notifiedMarker).TIDEWHEEL_NOTIFIED_MARKER || undefined,
  account: () => read(schemas.account).TIDEWHEEL_ACCOUNT,
  allowed: (): Allowed => {
    const values = read(schemas.allowed);
    return {
      account: values.TIDEWHEEL_ACCOUNT,
      subnets: values.TIDEWHEEL_SUBNETS,
      securityGroups: values.TIDEWHEEL_SECURITY_GROUPS,
      imageAccounts: values.TIDEWHEEL_IMAGE_ACCOUNTS,
      sharedPrefixes: values.TIDEWHEEL_SHARED_PREFIXES,
      packageIndexSecret: values.TIDEWHEEL_PACKAGE_INDEX_ARN,
      packageIndexRepository: values.TIDEWHEEL_PACKAGE_INDEX_REPOSITORY,
      registries: values.TIDEWHEEL_REGISTRIES === 'yes',
    };
  },
  people: (): PeopleRoles => {
    const { TIDEWHEEL_OPERATORS: operators, TIDEWHEEL_VIEWERS: viewers } = read(schemas.people);
    return { operators, viewers };
  },
  /** What the page signs people in with: the first client of the audience. */
  signIn: () => {
    const values = read(schemas.signIn);
    const [id = ''] = values.TIDEWHEEL_OIDC_AUDIENCE;
    return { issuer: values.TIDEWHEEL_OIDC_ISSUER, client: { id, scopes: values.TIDEWHEEL_OIDC_SCOPES } };
  },
  plan: () => {
    const { TIDEWHEEL_STAGE: stage, TIDEWHEEL_TRIED_ROLES: roles } = read(schemas.plan);
    return { stage, roles: new Map(Object.entries(roles)) };
  },
  region: () => read(schemas.region).AWS_REGION,
  schedules: () => read(schemas.schedules),
} as const;
