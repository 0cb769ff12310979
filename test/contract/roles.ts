/** The roles of the packaged template, and what AWS's policy evaluation says of a call under one of them. */
import { runSimulation } from '@cloud-copilot/iam-simulate';
import { PIPELINE_TAG } from '../../functions/launch/pipeline-role.ts';
import { ACCOUNT, resolve } from './intrinsics.ts';
import { ofType, type Template } from './packaged.ts';

interface Statement {
  readonly Effect: string;
  readonly Action: string | readonly string[];
  readonly Resource: string | readonly string[];
  readonly Condition?: unknown;
}

export interface Role {
  readonly id: string;
  readonly arn: string;
  readonly statements: readonly Statement[];
  /** A pipeline's role: bounded by its own policy, which reads the role's tag. */
  readonly pipeline?: string;
}

export interface Call {
  readonly action: string;
  readonly resource: string;
  readonly context?: Readonly<Record<string, string | string[]>>;
}

interface PolicyDocument {
  readonly Statement: readonly Statement[];
}

export function rolesOf(template: Template): Role[] {
  return ofType(template, 'AWS::IAM::Role').map(([id, { Properties }]) => {
    const policies = resolve(template, Properties['Policies'] ?? []) as {
      readonly PolicyDocument: PolicyDocument;
    }[];
    return {
      id,
      arn: String(resolve(template, { 'Fn::GetAtt': [id, 'Arn'] })),
      statements: policies.flatMap(({ PolicyDocument }) => PolicyDocument.Statement),
    };
  });
}

/** As `functions/aws/iam` creates it. */
export function roleOfPipeline(
  template: Template,
  policy: 'TrainingPolicy' | 'HostPolicy',
  pipeline: string,
): Role {
  const document = resolve(template, template.Resources[policy]?.Properties['PolicyDocument']);
  const { Statement } = document as PolicyDocument;
  const path = policy === 'TrainingPolicy' ? 'training' : 'hosts';
  return {
    id: `${policy} of ${pipeline}`,
    arn: `arn:aws:iam::${ACCOUNT}:role/tidewheel/dev/us-east-1/${path}/tidewheel-${pipeline}-01234567`,
    statements: Statement,
    pipeline,
  };
}

/** @throws when the call itself makes no sense to IAM: an unknown action, a resource of the wrong kind */
export async function isAllowed(role: Role, { action, resource, context = {} }: Call): Promise<boolean> {
  const policies = [{ name: role.id, policy: { Version: '2012-10-17', Statement: role.statements } }];
  const { pipeline } = role;
  const answer = await runSimulation(
    {
      identityPolicies: policies,
      ...(pipeline !== undefined && { permissionBoundaryPolicies: policies }),
      serviceControlPolicies: [],
      resourceControlPolicies: [],
      request: {
        action,
        principal: role.arn,
        resource: { resource, accountId: ACCOUNT },
        contextVariables: {
          ...context,
          ...(pipeline !== undefined && { [`aws:PrincipalTag/${PIPELINE_TAG}`]: pipeline }),
        },
      },
    },
    {},
  );
  if (answer.resultType === 'error')
    throw new Error(`${action} on ${resource}: ${JSON.stringify(answer.errors)}`);
  return answer.overallResult === 'Allowed';
}
