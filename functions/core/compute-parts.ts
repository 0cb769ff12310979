/** The parts of `compute` that have rules of their own: helper groups, and what EC2 needs to know. */
import * as z from 'zod';

/** The instance group that trains, in a job with helpers. */
export const TRAINING_GROUP = 'train';

/** EC2 names; SageMaker's are the same behind `ml.`. */
export const instanceType = z.string().regex(/^[a-z0-9-]+\.[a-z0-9-]+$/, 'write EC2 names such as g5.xlarge');

export const helpersSchema = z
  .array(
    z.strictObject({
      name: z
        .string()
        .regex(/^[a-z][a-z0-9-]{0,30}$/, 'use 1 to 31 of a-z, 0-9 and hyphens')
        .refine(
          (name) => name !== TRAINING_GROUP,
          `${TRAINING_GROUP} is the group that trains, choose another`,
        ),
      instanceType,
      nodes: z.number().int().min(1).max(64),
    }),
  )
  .min(1)
  .max(4)
  .refine(
    (groups) => new Set(groups.map(({ name }) => name)).size === groups.length,
    'give each group a name of its own',
  );

export const ec2Schema = z.strictObject({
  image: z
    .string()
    .regex(
      /^(ami-[0-9a-f]{8,17}|resolve:ssm:[A-Za-z0-9_./:-]{1,500})$/,
      'write ami-… or resolve:ssm:/path/of/a/parameter',
    )
    .describe("A machine image with the AWS CLI and the framework, e.g. AWS's Deep Learning AMI."),
  instanceProfile: z
    .string()
    .regex(
      /^arn:aws[a-z-]*:iam::\d{12}:instance-profile\/[\w+=,.@/-]{1,500}$/,
      'write the ARN of an instance profile',
    )
    .optional()
    .describe("What hosts may do. Default: the stack's own profile, the only one that launch may pass on."),
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
});
