/** What a person changes for one run: the names of its fields, and a version of the data that is not there. */

import type { Pipeline } from '@tidewheel/declaration/pipeline.ts';
import { LaunchRefusedError, type Problem } from '@tidewheel/kit/errors.ts';
import type { ObjectStore } from '@tidewheel/kit/object-store.ts';
import { isTable } from '@tidewheel/kit/tables.ts';
import { generationsNow, type VersionReader } from '../../records/dataset-version.ts';

/** Tables whose fields are named by the person who declares them. */
const NAMED_BY_PERSONS = ['hyperparameters', 'environment'];

/** Names such as `limits.deadlineHours` and `training.hyperparameters.lr`. Values may be secret. */
export const fieldsOf = (change: Readonly<Record<string, unknown>>): string[] =>
  Object.entries(change).flatMap(([section, fields]) =>
    section === 'tuning' && isTable(fields)
      ? fieldsOf(fields).map((field) => `tuning.${field}`)
      : isTable(fields)
        ? Object.entries(fields).flatMap(([field, value]) =>
            NAMED_BY_PERSONS.includes(field) && isTable(value)
              ? Object.keys(value).map((name) => `${section}.${field}.${name}`)
              : [`${section}.${field}`],
          )
        : [section],
  );

const PIN = /^dataset\.pin (of \S+ )?/;

/** @returns the generations that the run would read, or why it would fail at its next launch */
export async function readableVersion(
  store: ObjectStore,
  run: VersionReader,
): Promise<{ readonly generations: readonly string[] } | { readonly problem: Problem }> {
  try {
    return { generations: await generationsNow(store, run) };
  } catch (error: unknown) {
    if (!(error instanceof LaunchRefusedError)) throw error;
    // It names the pin's field first, unless something else of the dataset is in the way.
    const message = error.message.replace(PIN, '');
    return { problem: { path: message === error.message ? '' : 'dataset.pin', message } };
  }
}

/** A launch would find out, when hosts are paid for. */
export async function whyNoData(
  store: ObjectStore,
  run: VersionReader & { readonly declaration: Pipeline },
): Promise<Problem | undefined> {
  const version = await readableVersion(store, run);
  if ('problem' in version) return version.problem;
  return version.generations.length > 0 || run.declaration.training.channels !== undefined
    ? undefined
    : { path: '', message: `${run.pipeline} has no packed data yet: drop some, and let a run pack it` };
}
