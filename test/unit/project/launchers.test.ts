/** A launcher's name stands in quotes only where the launcher itself is declared, so that no rule compares with it. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { LAUNCHERS } from '../../../functions/core/pipeline/launchers.ts';
import { filesOfProject } from '../../support/import-graph.ts';

const ROOT = path.join(import.meta.dirname, '../../..');
const READ = ['functions/', 'cli/'];

/** The declaration's schema, the registry, and the folders of each launcher. */
const allowed = (file: string, name: string): boolean =>
  file === 'functions/core/pipeline/launchers.ts' ||
  file === 'functions/core/catalog/launchers/registry.ts' ||
  file === `functions/core/catalog/launchers/${name}.ts` ||
  file.startsWith(`functions/core/launch/${name}/`) ||
  file.startsWith(`functions/aws/${name}/`) ||
  AWS_NAMES.has(file);

/** Where the same word is AWS's: the prefix of IAM actions, and the platform of a container image. */
const AWS_NAMES: ReadonlySet<string> = new Set([
  'functions/place/function.ts',
  'functions/collect-scores/function.ts',
  'functions/core/catalog/image-catalogue.ts',
]);

const files = filesOfProject(ROOT).filter(
  (file) => file.endsWith('.ts') && READ.some((folder) => file.startsWith(folder)),
);
const code = (file: string) =>
  readFileSync(path.join(ROOT, file), 'utf8').replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '');

it.each(LAUNCHERS)('no file but its own quotes "%s"', (name) => {
  const quoted = new RegExp(`['"\`]${name}['"\`]`);
  expect(files.filter((file) => !allowed(file, name) && quoted.test(code(file)))).toEqual([]);
});

it.each(LAUNCHERS)('finds "%s" where it is declared', (name) => {
  expect(code('functions/core/pipeline/launchers.ts')).toContain(`'${name}'`);
});
