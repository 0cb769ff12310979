import { beforeAll, describe, expect, it } from 'vitest';
import { resolve } from '../intrinsics.ts';
import { ofType, type Packaged, packaged, type Template } from '../packaged.ts';
import { type Call, isAllowed, type Role, roleOfPipeline, rolesOf } from '../roles.ts';
import { ec2, INTERFACE_ACTIONS, imageOf, inVpc, job, onInterface } from './call-words.ts';
import { CALLS, onEc2 } from './calls.ts';
import { deployedWith, listOf, type Parameters } from './deployed.ts';
import { FORBIDDEN, FORBIDDEN_TO_SCRIPTS, NOT_ALLOWED, RESERVED } from './forbidden-calls.ts';
import { HOST_CALLS, TRAINING_CALLS } from './script-calls.ts';

/** Of a deployment that names one of each. */
const PARAMETERS = {
  subnets: 'subnet-1',
  securityGroups: 'sg-1, sg-3',
  imageAccounts: '111122223333',
  sharedPrefixes: 's3://tw-databucket/shared/,s3://other-data/images/',
};

/** Those of functions, and those that the service gives to a pipeline. */
const rolesIn = (template: Template): Role[] => [
  ...rolesOf(template),
  roleOfPipeline(template, 'TrainingPolicy', 'digits'),
  roleOfPipeline(template, 'HostPolicy', 'digits'),
];

let made: Packaged;
let template: Template;
let roles: Role[];
/** The role that the template gives a function, by the function's folder. */
let roleOfFunction: Map<string, string>;

beforeAll(async () => {
  made = await packaged();
  template = await deployedWith(made.template, PARAMETERS);
  roles = rolesIn(template);
  roleOfFunction = new Map(
    ofType(made.template, 'AWS::Lambda::Function').map(([, { Properties }]) => [
      String(Properties['FunctionName']).replace(/^tidewheel-dev-/, ''),
      String(resolve(template, Properties['Role'])),
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
      await surprises(roleOfPipeline(template, 'TrainingPolicy', 'digits'), TRAINING_CALLS, 'allowed'),
    ).toEqual([]);
  });

  it('lets a script do no harm', async () => {
    const others = RESERVED.map(([, call]) => call);
    expect(
      await surprises(
        roleOfPipeline(template, 'TrainingPolicy', 'digits'),
        [...FORBIDDEN, ...FORBIDDEN_TO_SCRIPTS, ...others],
        'denied',
      ),
    ).toEqual([]);
  });
});

describe('a role without the tag', () => {
  it('reads and saves nothing of any pipeline', async () => {
    const { pipeline: _tag, ...role } = roleOfPipeline(template, 'TrainingPolicy', 'digits');
    const own = TRAINING_CALLS.filter(({ resource }) => resource.includes('/digits/'));
    expect(own.length).toBeGreaterThan(5);
    expect(await surprises(role, own, 'denied')).toEqual([]);
  });
});

describe('the role of hosts on EC2', () => {
  it('lets a host read, save and report', async () => {
    expect(await surprises(roleOfPipeline(template, 'HostPolicy', 'digits'), HOST_CALLS, 'allowed')).toEqual(
      [],
    );
  });

  it('lets a script do no harm', async () => {
    const others = RESERVED.map(([, call]) => call);
    expect(
      await surprises(
        roleOfPipeline(template, 'HostPolicy', 'digits'),
        [...FORBIDDEN, ...FORBIDDEN_TO_SCRIPTS, ...others],
        'denied',
      ),
    ).toEqual([]);
  });
});

describe("the deployment's parameters", () => {
  it('are all that a role may name', async () => {
    const found = await Promise.all(roles.map((role) => surprises(role, NOT_ALLOWED, 'denied')));
    expect(found.flat()).toEqual([]);
  });

  it('allow no network where they are empty', async () => {
    const bare = rolesIn(await deployedWith(made.template, {}));
    const named = [
      inVpc('subnet-1', 'sg-1'),
      ...['RunInstances', 'CreateNetworkInterface'].flatMap((action) => [
        onEc2(action, 'subnet/subnet-1'),
        onEc2(action, 'security-group/sg-1'),
      ]),
      onEc2('CreateNetworkInterface', 'network-interface/*'),
      ...INTERFACE_ACTIONS.map((action) => onInterface(action, 'subnet-1')),
      imageOf('111122223333'),
    ];
    const scripts = bare.filter(({ pipeline }) => pipeline !== undefined);
    const found = await Promise.all([
      ...bare.map((role) => surprises(role, named.slice(1), 'denied')),
      ...bare.map((role) => surprises(role, named.slice(0, 1), 'denied')),
      ...scripts.map((role) => surprises(role, [ec2('DescribeSubnets')], 'denied')),
    ]);
    expect(found.flat()).toEqual([]);
    const launch = bare.filter(({ id }) => id === 'LaunchRole');
    expect(launch).toHaveLength(1);
    for (const role of launch) expect(await isAllowed(role, job('CreateTrainingJob'))).toBe(true);
  });

  it('let scripts install from one CodeArtifact repository', async () => {
    const codeArtifact = (action: string, resource: string): Call => ({
      action: `codeartifact:${action}`,
      resource: `arn:aws:codeartifact:eu-west-1:111122223333:${resource}`,
    });
    const bearer = (service: string): Call => ({
      action: 'sts:GetServiceBearerToken',
      resource: '*',
      context: { 'sts:AWSServiceName': service },
    });
    const calls = [
      codeArtifact('GetAuthorizationToken', 'domain/team'),
      codeArtifact('ReadFromRepository', 'repository/team/wheels'),
      bearer('codeartifact.amazonaws.com'),
    ];
    const packageIndexRepository = 'arn:aws:codeartifact:eu-west-1:111122223333:repository/team/wheels';
    const given = await deployedWith(made.template, { packageIndexRepository });
    for (const policy of ['TrainingPolicy', 'HostPolicy'] as const) {
      const role = roleOfPipeline(given, policy, 'digits');
      expect(await surprises(role, calls, 'allowed')).toEqual([]);
      const others = [
        codeArtifact('GetAuthorizationToken', 'domain/other'),
        codeArtifact('ReadFromRepository', 'repository/team/others'),
        codeArtifact('DeleteRepository', 'repository/team/wheels'),
        bearer('other.amazonaws.com'),
      ];
      expect(await surprises(role, others, 'denied')).toEqual([]);
      expect(await surprises(roleOfPipeline(template, policy, 'digits'), calls, 'denied')).toEqual([]);
    }
  });

  it('may allow every network', async () => {
    const any = rolesOf(await deployedWith(made.template, { subnets: '*', securityGroups: '*' }));
    const launch = any.filter(({ id }) => id === 'LaunchRole');
    for (const role of launch)
      expect(
        await surprises(
          role,
          [inVpc('subnet-9', 'sg-9'), onEc2('RunInstances', 'subnet/subnet-9')],
          'allowed',
        ),
      ).toEqual([]);
  });

  it.each<[string, Parameters]>([
    ['subnetIds', { subnets: 'vpc' }],
    ['securityGroupIds', { securityGroups: 'sg-1;sg-2' }],
    ['repositoryArns', { imageAccounts: '1234' }],
    ['sharedObjectArns', { sharedPrefixes: 's3://data/images' }],
    ['indexDomainArns', { packageIndexRepository: 'team/wheels' }],
  ])('stop the deployment where %s cannot be', async (list, parameters) => {
    await expect(listOf(list, parameters)).rejects.toThrow(Object.keys(parameters)[0]);
  });

  it('are named as osls has packaged them', async () => {
    const { Resources } = await deployedWith(made.template, {});
    for (const id of ['TrainingPolicy', 'HostPolicy', 'LaunchRole'])
      expect(Resources[id]).toEqual(made.template.Resources[id]);
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
      /^(ec2:(Describe\w+|GetSpotPlacementScores)|ecr:GetAuthorizationToken|cloudwatch:PutMetricData|states:SendTaskSuccess|pricing:GetProducts|sagemaker:SearchTrainingPlanOfferings|servicequotas:List\w+)$/;
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
