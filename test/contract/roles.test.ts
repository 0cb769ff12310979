import { beforeAll, describe, expect, it } from 'vitest';
import { CALLS } from './calls.ts';
import { FORBIDDEN, FORBIDDEN_TO_SCRIPTS, HOST_CALLS, RESERVED, TRAINING_CALLS } from './forbidden-calls.ts';
import { resolve } from './intrinsics.ts';
import { ofType, type Packaged, packaged } from './packaged.ts';
import { type Call, isAllowed, type Role, roleOfPipeline, rolesOf } from './roles.ts';

let made: Packaged;
let roles: Role[];
/** The role that the template gives a function, by the function's folder. */
let roleOfFunction: Map<string, string>;

beforeAll(async () => {
  made = await packaged();
  roles = [
    ...rolesOf(made.template),
    roleOfPipeline(made.template, 'TrainingPolicy', 'digits'),
    roleOfPipeline(made.template, 'HostPolicy', 'digits'),
  ];
  roleOfFunction = new Map(
    ofType(made.template, 'AWS::Lambda::Function').map(([, { Properties }]) => [
      String(Properties['FunctionName']).replace(/^tidewheel-dev-/, ''),
      String(resolve(made.template, Properties['Role'])),
    ]),
  );
}, 300_000);

const roleOf = (name: string): Role => {
  const role = roles.find(({ arn, id }) => arn === roleOfFunction.get(name) || id === name);
  if (role === undefined) throw new Error(`the template holds no role for ${name}`);
  return role;
};

/** The calls of a list for which the answer is not the expected one; the list is to be empty. */
async function surprises(
  role: Role,
  calls: readonly Call[],
  expected: 'allowed' | 'denied',
): Promise<string[]> {
  const answers = await Promise.all(
    calls.map(async (call) => ({ call, allowed: await isAllowed(role, call) })),
  );
  return answers
    .filter(({ allowed }) => allowed !== (expected === 'allowed'))
    .map(
      ({ call }) =>
        `${call.action} on ${call.resource}${call.context === undefined ? '' : ` with ${JSON.stringify(call.context)}`}`,
    );
}

const asList = (value: string | readonly string[]): readonly string[] =>
  typeof value === 'string' ? [value] : value;

describe('every function', () => {
  it('is looked at here', () => {
    expect([...roleOfFunction.keys()].toSorted()).toEqual(Object.keys(CALLS).toSorted());
  });

  it('has a role of its own', () => {
    expect(new Set(roleOfFunction.values()).size).toBe(roleOfFunction.size);
  });

  it.each(Object.entries(CALLS))('%s may do what it does', async (name, calls) => {
    expect(await surprises(roleOf(name), calls, 'allowed')).toEqual([]);
  });

  it.each(Object.keys(CALLS))('%s may do no harm', async (name) => {
    expect(await surprises(roleOf(name), FORBIDDEN, 'denied')).toEqual([]);
  });

  it.each(Object.keys(CALLS))('%s may not do the work of another', async (name) => {
    const others = RESERVED.filter(([owner]) => !asList(owner).includes(name)).map(([, call]) => call);
    expect(await surprises(roleOf(name), others, 'denied')).toEqual([]);
  });
});

describe('the role of training jobs', () => {
  it('lets a job read its data, save and log', async () => {
    expect(
      await surprises(roleOfPipeline(made.template, 'TrainingPolicy', 'digits'), TRAINING_CALLS, 'allowed'),
    ).toEqual([]);
  });

  it('lets a script do no harm', async () => {
    const others = RESERVED.map(([, call]) => call);
    expect(
      await surprises(
        roleOfPipeline(made.template, 'TrainingPolicy', 'digits'),
        [...FORBIDDEN, ...FORBIDDEN_TO_SCRIPTS, ...others],
        'denied',
      ),
    ).toEqual([]);
  });
});

describe('a role without the tag', () => {
  it('reads and saves nothing of any pipeline', async () => {
    const { pipeline: _tag, ...role } = roleOfPipeline(made.template, 'TrainingPolicy', 'digits');
    const own = TRAINING_CALLS.filter(({ resource }) => resource.includes('/digits/'));
    expect(own.length).toBeGreaterThan(5);
    expect(await surprises(role, own, 'denied')).toEqual([]);
  });
});

describe('the role of hosts on EC2', () => {
  it('lets a host read, save and report', async () => {
    expect(
      await surprises(roleOfPipeline(made.template, 'HostPolicy', 'digits'), HOST_CALLS, 'allowed'),
    ).toEqual([]);
  });

  it('lets a script do no harm', async () => {
    const others = RESERVED.map(([, call]) => call);
    expect(
      await surprises(
        roleOfPipeline(made.template, 'HostPolicy', 'digits'),
        [...FORBIDDEN, ...FORBIDDEN_TO_SCRIPTS, ...others],
        'denied',
      ),
    ).toEqual([]);
  });
});

describe('every role', () => {
  it('names its actions one by one', () => {
    const broad = roles.flatMap(({ id, statements }) =>
      statements.flatMap(({ Action }) =>
        asList(Action)
          .filter((action) => action.includes('*'))
          .map((action) => `${id}: ${action}`),
      ),
    );
    expect(broad).toEqual([]);
  });

  it('names its resources, but where AWS knows none', () => {
    /** Actions that take no resource, so that IAM demands "*". */
    const unbound =
      /^(ec2:(Describe\w+|GetSpotPlacementScores|CreateNetworkInterface|DeleteNetworkInterface|CreateNetworkInterfacePermission|DeleteNetworkInterfacePermission)|ecr:GetAuthorizationToken|cloudwatch:PutMetricData|states:SendTaskSuccess|pricing:GetProducts)$/;
    /** https://docs.aws.amazon.com/step-functions/latest/dg/cw-logs.html */
    const logDelivery =
      /^logs:((Create|Get|Update|Delete|List)LogDeliver(y|ies)|PutResourcePolicy|DescribeResourcePolicies|DescribeLogGroups)$/;
    const broad = roles.flatMap(({ id, statements }) =>
      statements
        .filter(({ Resource }) => asList(Resource).includes('*'))
        .flatMap(({ Action }) =>
          asList(Action)
            .filter((action) => !unbound.test(action) && !logDelivery.test(action))
            .map((action) => `${id}: ${action}`),
        ),
    );
    expect(broad).toEqual([]);
  });

  it('says what it allows, but for a bucket elsewhere', () => {
    const denying = roles.filter(({ statements }) => statements.some(({ Effect }) => Effect !== 'Allow'));
    expect(denying.map(({ id }) => id)).toEqual(['TrainingPolicy of digits']);
  });

  it("fits IAM's limits", () => {
    const size = ({ statements }: Role) =>
      JSON.stringify({ Version: '2012-10-17', Statement: statements }).length;
    const isPolicy = ({ pipeline }: Role) => pipeline !== undefined;
    // https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html
    const tooLong = roles.filter((role) => size(role) > (isPolicy(role) ? 6_144 : 10_240));
    expect(tooLong.map((role) => [role.id, size(role)])).toEqual([]);
  });
});
