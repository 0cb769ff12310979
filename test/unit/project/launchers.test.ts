/** A launcher's name stands in quotes only where the launcher itself is declared, so that no rule compares with it. */

import { readFileSync } from 'node:fs';
import path from 'node:path';
import { LAUNCHERS } from '@tidewheel/declaration/launchers.ts';
import { expect, it } from 'vitest';
import { filesOfProject } from '../../support/import-graph.ts';

const ROOT = path.join(import.meta.dirname, '../../..');
const READ = ['functions/', 'packages/', 'cli/'];

/** The declaration's schema, the registry, and the folders of each launcher. */
const allowed = (file: string, name: string): boolean =>
  file === 'packages/declaration/schema/launcher-names.ts' ||
  file === 'packages/catalog/launchers/registry.ts' ||
  file === `packages/catalog/launchers/${name}.ts` ||
  file.startsWith(`functions/launch/${name}/`) ||
  file.startsWith(`functions/aws/${name}/`) ||
  AWS_NAMES.has(file);

/** Where the same word is AWS's: the prefix of IAM actions, and the platform of a container image. */
const AWS_NAMES: ReadonlySet<string> = new Set([
  'functions/handlers/place/function.ts',
  'functions/handlers/collect-scores/function.ts',
  'packages/catalog/facts/image-catalogue.ts',
]);

const files = filesOfProject(ROOT).filter(
  (file) =>
    file.endsWith('.ts') && !file.includes('/tests/') && READ.some((folder) => file.startsWith(folder)),
);
const code = (file: string) =>
  readFileSync(path.join(ROOT, file), 'utf8').replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '');

it.each(LAUNCHERS)('no file but its own quotes "%s"', (name) => {
  const quoted = new RegExp(`['"\`]${name}['"\`]`);
  expect(files.filter((file) => !allowed(file, name) && quoted.test(code(file)))).toEqual([]);
});

it.each(LAUNCHERS)('finds "%s" where it is declared', (name) => {
  expect(code('packages/declaration/schema/launcher-names.ts')).toContain(`'${name}'`);
});
