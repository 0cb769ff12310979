/**
 * The IAM roles under which training scripts run: one for each pipeline and each service that takes it. All roles of a
 * kind have one policy, and its resources name the pipeline by the role's tag. docs/decisions/0010 says why.
 */
import { createHash } from 'node:crypto';
import type { CreateOutcome } from './job/training-service.ts';

/** `${aws:PrincipalTag/…}` in the policies of the template reads it. Without a colon, which ends a variable's prefix. */
export const PIPELINE_TAG = 'tidewheel-pipeline';

/** What the deployment says of a kind of roles. */
export interface RoleKind {
  /** The kind's managed policy, which is both the role's policy and its permissions boundary. */
  readonly policyArn: string;
  /** IAM path that only roles of this kind have, such as `/tidewheel/dev/us-east-1/training/`. */
  readonly path: string;
}

export interface RoleNames {
  /** Of the role, and of its instance profile if it has one. */
  readonly name: string;
  readonly path: string;
  readonly account: string;
  readonly roleArn: string;
  readonly profileArn: string;
}

const SALT_DIGITS = 8;

/**
 * The name holds a hash of the policy's ARN. A stack that is removed and deployed again has another policy, and must not
 * take up roles that are bounded by the old one.
 */
export function roleNames({ policyArn, path }: RoleKind, pipeline: string): RoleNames {
  const [, partition = '', , , account = ''] = policyArn.split(':');
  const salt = createHash('sha256').update(policyArn).digest('hex').slice(0, SALT_DIGITS);
  const name = `tidewheel-${pipeline}-${salt}`;
  const arn = (kind: string) => `arn:${partition}:iam::${account}:${kind}${path}${name}`;
  return { name, path, account, roleArn: arn('role'), profileArn: arn('instance-profile') };
}

/** The role of a pipeline for one launcher. The adapters are in functions/aws/iam. */
export interface PipelineRole {
  /** What the launcher's request names: a role or an instance profile. It derives from the pipeline's name alone. */
  arnOf(pipeline: string): string;
  /** Creates what is missing. Safe to repeat. */
  ensure(pipeline: string): Promise<RoleAge>;
}

/** IAM is eventually consistent: for a while other services may not see a `new` role. */
export type RoleAge = 'new' | 'known';

/** Starts a job under the pipeline's role. A refusal that may come from a new role is worth another try. */
export async function startUnder(
  role: PipelineRole,
  pipeline: string,
  start: () => Promise<CreateOutcome>,
): Promise<CreateOutcome> {
  const age = await role.ensure(pipeline);
  const outcome = await start();
  const mayPass =
    age === 'new' && (outcome.kind === 'invalid' || outcome.kind === 'denied' || outcome.kind === 'unknown');
  return mayPass ? { kind: 'throttled', message: `its role is new; ${outcome.message}` } : outcome;
}
