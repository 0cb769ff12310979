/** Whether an instance type exists where a pipeline would launch it, and the nearest one if not. */
import { nearest } from '@tidewheel/kit/nearest.mjs';
import ec2 from './ec2-types.json' with { type: 'json' };
import { likeEarlier } from './instance-family.ts';
import { TRAINING_TYPES, trainingType } from './training-types.ts';

const sizes: Readonly<Record<string, string>> = ec2.sizes;

/** Every type that EC2's API names. A contract test compares them with the SDK. */
export const EC2_TYPES: readonly string[] = Object.entries(sizes).flatMap(([family, ofFamily]) =>
  ofFamily.split(' ').map((size) => `${family}.${size}`),
);
const ON_EC2: ReadonlySet<string> = new Set(EC2_TYPES);

const TRAINED_ON: readonly string[] = TRAINING_TYPES.map((name) => name.slice('ml.'.length));

export const isEc2Type = (type: string): boolean => ON_EC2.has(type);
/** Whether the type is of a generation that the list does not have yet. */
export const isLaterType = (type: string): boolean => likeEarlier(type, EC2_TYPES) !== undefined;

/** @returns why EC2 cannot launch it, and what to write; undefined if it can, or if only EC2 can tell */
export function ec2TypeProblem(type: string): string | undefined {
  return isEc2Type(type) || isLaterType(type) ? undefined : `EC2 has no such type${meant(type, EC2_TYPES)}`;
}

/** @returns why SageMaker cannot train on it, and what to write; undefined if it can */
export function trainingTypeProblem(type: string): string | undefined {
  if (trainingType(type) !== undefined) return undefined;
  const near = meant(type, TRAINED_ON);
  return ON_EC2.has(type) ? `SageMaker does not train on it${near}` : `EC2 has no such type${near}`;
}

function meant(type: string, names: readonly string[]): string {
  const near = nearest(type, names);
  return near === undefined ? '' : `: did you mean ${near}?`;
}
