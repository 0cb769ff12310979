/** Whose money a pipeline spends: tags and an owner for every resource that AWS bills, by the rules of AWS's tags. */
import { refusingProto } from '@tidewheel/kit/tables.ts';
import * as z from 'zod';

/**
 * SageMaker's limits and EC2's, the lower of both: a key of EC2 has 127 characters.
 * https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_Tag.html
 * https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_Tag.html
 */
const LONGEST_KEY = 127;
const LONGEST_VALUE = 256;
const CHARACTERS = /^[\p{L}\p{Z}\p{N}_.:/=+\-@]*$/u;
const ALLOWED = 'use letters, digits, spaces and _ . : / = + - @';
/** AWS's limit of a resource. */
const MOST_TAGS = 50;
/** The service tags with pipeline, owner, run, attempt, job, round of the hosts, and name. */
const OWN_TAGS = 7;
const MOST_DECLARED = MOST_TAGS - OWN_TAGS;

const RESERVED: readonly (readonly [keys: RegExp, message: string])[] = [
  [/^aws:/i, 'AWS reserves aws: for its own tags, choose another key'],
  [/^tidewheel:/i, 'the service sets tidewheel: itself, choose another key'],
  [/^Name$/, 'the service names hosts by it, choose another key'],
];

const key = z
  .string()
  .min(1, 'write a key')
  .max(LONGEST_KEY, `a key has at most ${LONGEST_KEY} characters`)
  .regex(CHARACTERS, ALLOWED)
  .superRefine((text, context) => {
    for (const [keys, message] of RESERVED)
      if (keys.test(text)) context.addIssue({ code: 'custom', message });
  });

const value = z
  .string('write a text; a number in quotes')
  .max(LONGEST_VALUE, `a value has at most ${LONGEST_VALUE} characters`)
  .regex(CHARACTERS, ALLOWED);

export const tagsSchema = refusingProto(
  z
    .record(key, value)
    .refine(
      (all) => Object.keys(all).length <= MOST_DECLARED,
      `at most ${MOST_DECLARED} tags: AWS takes ${MOST_TAGS} a resource, of which the service sets ${OWN_TAGS}`,
    )
    .describe('Tags of its jobs, hosts and volumes, for cost allocation.'),
);

export const ownerSchema = value
  .min(1, 'name a person or a team')
  .describe('Who answers for it and its cost: a person or a team, such as vision@example.com.');
