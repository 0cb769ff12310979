/** Which files import which, types included, as their texts say. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';

/** Files that git tracks or would track, by their paths from the root. */
export const filesOfProject = (root: string): readonly string[] =>
  execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
  })
    .split('\n')
    .filter((file) => file !== '' && existsSync(path.join(root, file)));

const SPECIFIER = /\b(?:from|import)\s*\(?\s*'(\.\.?\/[^']+|@tidewheel\/[^']+)'/g;
/** Folder of each workspace, by its name. */
const folderOfPackage = (name: string): string => (name === 'emulators' ? name : `packages/${name}`);

/** Paths from the root of what a file imports of the project. */
export function importsOf(root: string, file: string): readonly string[] {
  const text = readFileSync(path.join(root, file), 'utf8');
  const named = [...text.matchAll(SPECIFIER)].map(([, specifier = '']) => {
    const [scope, name = '', ...rest] = specifier.split('/');
    return scope === '@tidewheel'
      ? path.join(folderOfPackage(name), ...rest)
      : path.join(path.dirname(file), specifier);
  });
  return named.filter((target) => statSync(path.join(root, target), { throwIfNoEntry: false })?.isFile());
}

/** Groups of nodes that reach each other (Tarjan's strongly connected components), each sorted. */
export function circles(graph: ReadonlyMap<string, readonly string[]>): readonly (readonly string[])[] {
  const order = new Map<string, number>();
  const stack: string[] = [];
  const found: string[][] = [];
  const visit = (node: string): number => {
    const place = order.size;
    order.set(node, place);
    stack.push(node);
    let low = place;
    for (const next of graph.get(node) ?? []) {
      if (!order.has(next)) low = Math.min(low, visit(next));
      else if (stack.includes(next)) low = Math.min(low, order.get(next) ?? low);
    }
    if (low === place) {
      const group = stack.splice(stack.indexOf(node));
      if (group.length > 1) found.push(group.toSorted());
    }
    return low;
  };
  for (const node of graph.keys()) if (!order.has(node)) visit(node);
  return found;
}
