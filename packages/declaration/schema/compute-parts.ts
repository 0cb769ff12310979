/** The parts of `compute` that have rules of their own: helper groups, and what EC2 needs to know. */
import * as z from 'zod';
import { trainingTypeProblem } from '../types/known-types.ts';

/** The instance group that trains, in a job with helpers. */
export const TRAINING_GROUP = 'train';

const TYPE_FORM = /^[a-z0-9-]+\.[a-z0-9-]+$/;

/** EC2 names; SageMaker's are the same behind `ml.`. */
export const instanceType = z
  .string()
  .check(({ value, issues }) => {
    const message = formProblem(value);
    if (message !== undefined) issues.push({ code: 'custom', input: value, message });
  })
  .meta({ pattern: TYPE_FORM.source });

function formProblem(type: string): string | undefined {
  if (TYPE_FORM.test(type)) return undefined;
  const ec2Name = type.replace(/^ml\./, '');
  return `write EC2 names such as ${TYPE_FORM.test(ec2Name) ? ec2Name : 'g5.xlarge'}`;
}

/** Only SageMaker launches helpers. */
const helperType = instanceType.check(({ value, issues }) => {
  const message = TYPE_FORM.test(value) ? trainingTypeProblem(value) : undefined;
  if (message !== undefined) issues.push({ code: 'custom', input: value, message });
});

interface TypeProblem {
  readonly index: number;
  readonly type: string;
  readonly message: string;
}

/** The list may hold anything: the rules of its entries speak of what is no name of a type. */
export function typeProblems(
  types: readonly unknown[],
  problemOf: (type: string) => string | undefined,
): readonly TypeProblem[] {
  const named = types.map((type) => (typeof type === 'string' && TYPE_FORM.test(type) ? type : undefined));
  return named.flatMap((type, index): TypeProblem[] => {
    if (type === undefined) return [];
    if (named.indexOf(type) < index) return [{ index, type, message: 'it is there twice: take one out' }];
    const message = problemOf(type);
    return message === undefined ? [] : [{ index, type, message }];
  });
}

const helperName = z
  .string()
  .regex(/^[a-z][a-z0-9-]{0,30}$/, 'use 1 to 31 of a-z, 0-9 and hyphens')
  .refine((name) => name !== TRAINING_GROUP, `${TRAINING_GROUP} is the group that trains, choose another`);

export const helpersSchema = z
  .array(
    z.strictObject({
      name: helperName,
      instanceType: helperType,
      nodes: z.number().int().min(1).max(64),
    }),
  )
  .min(1)
  .max(4)
  .refine(
    (groups) => new Set(groups.map(({ name }) => name)).size === groups.length,
    'give each group a name of its own',
  );

/** As the catalog names them; a test compares the two. The first eight are NVIDIA's, Trainium needs code of its own. */
export const ACCELERATOR_KINDS = [
  'T4',
  'V100',
  'A10G',
  'L4',
  'L40S',
  'A100',
  'H100',
  'H200',
  'Trainium',
] as const;

export const needsSchema = z
  .strictObject({
    accelerators: z
      .number()
      .int()
      .min(0)
      .max(512)
      .describe('How many train together, over all nodes: the world size. 0 trains on CPUs.'),
    kinds: z
      .array(z.enum(ACCELERATOR_KINDS))
      .min(1)
      .optional()
      .describe('Which accelerators will do; default: every NVIDIA one.'),
    acceleratorMemoryGigabytes: z.number().positive().max(1_000).optional().describe('Least memory of each.'),
    acceleratorsPerNode: z
      .number()
      .int()
      .min(1)
      .max(16)
      .optional()
      .describe('At least so many in one node, for strategies that need a fast link between them.'),
    memoryGigabytes: z.number().positive().max(24_576).optional().describe('Least host memory of a node.'),
    vcpus: z.number().int().min(1).max(512).optional().describe('Least vCPUs of a node.'),
    maximumNodes: z.number().int().min(1).max(64).default(8),
    cpuInstead: z
      .boolean()
      .default(false)
      .describe('The model is small: nodes without accelerators may train it as well.'),
    resumeOnOtherTopology: z
      .boolean()
      .default(false)
      .describe(
        'A checkpoint of one number of nodes and processes may be resumed by another; docs/training.md says which recipes can.',
      ),
  })
  .superRefine((needs, context) => {
    const problem = (path: string, message: string): void =>
      context.addIssue({ code: 'custom', path: [path], message });
    const { accelerators, acceleratorsPerNode } = needs;
    if (accelerators > 0 && (acceleratorsPerNode ?? 0) > accelerators)
      problem(
        'acceleratorsPerNode',
        `${acceleratorsPerNode} in one node are more than the ${accelerators} that train together, lower it`,
      );
    if (accelerators > 0) return;
    for (const name of ['kinds', 'acceleratorMemoryGigabytes', 'acceleratorsPerNode'] as const)
      if (needs[name] !== undefined)
        problem(name, 'says nothing without accelerators: leave it out, or ask for some');
  });

const awsRegion = z.string().regex(/^[a-z]{2}(-[a-z]+)+-\d$/, 'write a region such as us-west-2');

export const vpcSchema = z.strictObject({
  securityGroupIds: z
    .array(z.string().regex(/^sg-[0-9a-z]{1,29}$/))
    .min(1)
    .max(5),
  subnets: z
    .array(
      z.strictObject({
        id: z.string().regex(/^subnet-[0-9a-z]{1,25}$/),
        zoneId: z.string().regex(/^[a-z0-9-]+-az\d+$/, 'write the id of a zone, such as use1-az4'),
      }),
    )
    .min(1)
    .max(16),
});

export const regionsSchema = z
  .array(
    z.strictObject({
      name: awsRegion,
      vpc: vpcSchema.optional().describe("As compute.vpc, which is the one of the data bucket's region."),
    }),
  )
  .min(1)
  .max(8)
  .refine(
    (regions) => new Set(regions.map(({ name }) => name)).size === regions.length,
    'name each region once',
  );

/** EC2's id: of an On-Demand Capacity Reservation, or of the one of a Capacity Block. */
const capacityReservation = /^cr-[0-9a-f]{8,17}$/;
/** The region and the account of a plan are those of the stack, or `check` says that they are not. */
const trainingPlan =
  /^arn:aws[a-z-]*:sagemaker:[a-z0-9-]+:\d{12}:training-plan\/[a-zA-Z0-9](-*[a-zA-Z0-9]){0,63}$/;

export const isTrainingPlan = (id: string): boolean => trainingPlan.test(id);

const RESERVED =
  'write the id of a Capacity Reservation (cr-…), the ARN of a training plan, or tag: { key, value }';

export const reservedSchema = z
  .array(
    z.union(
      [
        z.string().regex(new RegExp(`${capacityReservation.source}|${trainingPlan.source}`), RESERVED),
        z.strictObject({
          tag: z.strictObject({ key: z.string().min(1).max(128), value: z.string().max(256) }),
        }),
      ],
      RESERVED,
    ),
  )
  .min(1)
  .max(20);
export type Reserved = z.output<typeof reservedSchema>;

export const mayAddHelpersSchema = z.strictObject({
  name: helperName.default('helpers'),
  instanceTypes: z.array(helperType).min(1).max(20).optional().describe('Default: the c5 family.'),
  maximumNodes: z.number().int().min(1).max(16).default(4),
});

export const ec2Schema = z.strictObject({
  image: z
    .string()
    .regex(
      /^(ami-[0-9a-f]{8,17}|resolve:ssm:\/aws\/service\/[A-Za-z0-9_./:-]{1,500})$/,
      'write ami-… or resolve:ssm:/aws/service/…, a public parameter of AWS',
    )
    .describe("A machine image with the AWS CLI and the framework, e.g. AWS's Deep Learning AMI."),
  python: z
    .string()
    .regex(/^[A-Za-z0-9_./-]{1,200}$/, 'write the path of a program')
    .default('python3')
    .describe('The Python that has the framework, e.g. /opt/pytorch/bin/python3.'),
  rootDevice: z
    .string()
    .regex(/^\/dev\/[a-z0-9]{2,20}$/, 'write a device such as /dev/xvda')
    .default('/dev/xvda')
    .describe("The image's root device: /dev/xvda on Amazon Linux, /dev/sda1 on Ubuntu."),
  privateSubnets: z
    .boolean()
    .default(false)
    .describe(
      'Whether the subnets reach S3 without a public address, by a NAT gateway or endpoints. Gangs of types with several network cards have no public address.',
    ),
});
