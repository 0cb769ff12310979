/** The declaration in a person's folder, and where its code and data lie. */
import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { UsageError } from '@tidewheel/kit/command-line.ts';
import { messageOf, problemText } from '@tidewheel/kit/errors.ts';
import { check } from '@tidewheel/kit/validation.ts';
import { parse } from 'yaml';
import * as z from 'zod';
import { DECLARATION_FILE } from './run-list.ts';

export interface LocalDeclaration {
  readonly name: string;
  readonly text: string;
  /** Absolute. */
  readonly file: string;
  readonly folder: string;
  /** Relative to the folder, with slashes; empty for the folder itself. */
  readonly source: string;
  /** Absolute; files and folders that go beside the source's own. */
  readonly dependencies: readonly string[];
  /** Undefined where the declaration names none. */
  readonly data: LocalData | undefined;
}

interface LocalData {
  /** Relative to the folder: keys begin below it. */
  readonly root: string;
  /** Files and folders below the root that alone are data; undefined: all is. */
  readonly only: readonly string[] | undefined;
}

const below = z
  .string()
  .transform((text) => path.posix.normalize(text).replace(/^\.\/?$|\/$/g, ''))
  .refine((text) => !text.startsWith('..') && !path.isAbsolute(text), 'name a folder beside the declaration');

const fields = z.looseObject({
  name: z.string('name the pipeline'),
  'x-local': z
    .strictObject({
      source: below.default(''),
      dependencies: z.array(z.string().min(1)).default([]),
      data: z.union([below, z.array(below).min(1)]).optional(),
    })
    .default({ source: '', dependencies: [] }),
});

/**
 * @param given the file or its folder as typed; default tidewheel.yaml
 * @param remedy where there is no such file
 * @throws UsageError with every problem of what is read here; the service checks the rest
 */
export async function declarationAt(
  folder: string,
  given = DECLARATION_FILE,
  remedy = 'name a declaration',
): Promise<LocalDeclaration> {
  const file = await declarationFile(folder, given);
  const text = await readFile(file, 'utf8').catch(() => {
    throw new UsageError([
      given === DECLARATION_FILE
        ? `there is no ${DECLARATION_FILE} in this folder: write one with tidewheel init, or ${remedy}`
        : `there is no file ${file}: ${remedy}`,
    ]);
  });
  const read = check(fields, yaml(file, text), 'shown');
  if (!read.ok)
    throw new UsageError(read.problems.map((problem) => `${path.basename(file)}: ${problemText(problem)}`));
  const local = read.value['x-local'];
  return {
    name: read.value.name,
    text,
    file,
    folder: path.dirname(file),
    source: local.source,
    dependencies: local.dependencies.map((each) => path.resolve(path.dirname(file), each)),
    data:
      typeof local.data === 'string'
        ? { root: local.data, only: undefined }
        : local.data && { root: '', only: local.data },
  };
}

/** @param given a file, or the folder of one that has the usual name */
export async function declarationFile(folder: string, given: string): Promise<string> {
  const named = path.resolve(folder, given);
  const isFolder = (await stat(named).catch(() => undefined))?.isDirectory() === true;
  return isFolder ? path.join(named, DECLARATION_FILE) : named;
}

function yaml(file: string, text: string): unknown {
  try {
    return parse(text);
  } catch (error: unknown) {
    throw new UsageError([`${path.basename(file)} is no YAML: ${messageOf(error)}`]);
  }
}
