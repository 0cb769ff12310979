/** Evidence as a file holds it: points and phases as measured, instance types by name. */
import { instanceFacts, trainingPrice } from '@tidewheel/catalog/catalog.ts';
import { amount, count } from '@tidewheel/contract/document.ts';
import { linesSchema, pointSchema } from '@tidewheel/contract/evidence.ts';
import * as z from 'zod';
import type { Evidence, PricedType } from './evidence.ts';

const fileSchema = z.object({
  points: z.array(pointSchema, 'write a list of points'),
  phases: z.object({
    download: amount,
    image: amount.optional(),
    install: amount,
    scriptStart: amount,
    firstBatch: amount,
    firstStep: amount,
  }),
  lines: linesSchema.optional(),
  data: z.object({ bytes: amount, files: count }),
  inputMode: z.enum(['File', 'FastFile'], 'write File or FastFile'),
  instanceType: z.string('write an EC2 type such as g5.2xlarge'),
  alternatives: z.array(z.string()).default([]),
  region: z.string().default('us-east-1'),
  steps: count,
  runsPerMonth: amount.optional(),
});

export type EvidenceRead =
  | { readonly kind: 'evidence'; readonly evidence: Evidence }
  | { readonly kind: 'problems'; readonly problems: readonly string[] };

function priced(type: string, region: string): PricedType | undefined {
  const facts = instanceFacts(type);
  const price = trainingPrice(type, region);
  return facts && price && { facts, usdPerSecond: price.hourlyUsd / 3600 };
}

/** All problems at once, each with its field, its remedy, and the type where one is unknown. */
export function readEvidence(file: unknown): EvidenceRead {
  const parsed = fileSchema.safeParse(file);
  if (!parsed.success) {
    const problems = parsed.error.issues.map(
      ({ path, message }) => `${path.join('.') || 'file'}: ${message}`,
    );
    return { kind: 'problems', problems };
  }
  const { instanceType, alternatives, region, ...rest } = parsed.data;
  const named = [instanceType, ...alternatives].map((type) => ({ type, known: priced(type, region) }));
  const problems = named.flatMap(({ type, known }) =>
    known ? [] : [`${type}: the catalog has no facts or no price of it in ${region}; name another type`],
  );
  const [instance, ...others] = named.flatMap(({ known }) => (known ? [known] : []));
  if (instance === undefined || problems.length > 0) return { kind: 'problems', problems };
  return { kind: 'evidence', evidence: { ...rest, instance, alternatives: others } };
}
