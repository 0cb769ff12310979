/** The code of a project around its script: the modules of its own that the script imports. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';

const MOST_MODULES = 60;
const IMPORT = /^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import[ \t]+\(?([\w, \t]*)|import[ \t]+([\w., \t]+))/gm;

export interface Code {
  /** The script's first. */
  readonly text: string;
  /** Names of packages and modules that lie here: they are no package of an index. */
  readonly own: ReadonlySet<string>;
}

/**
 * @param names of the project's files
 * @param script one of them
 */
export async function codeOfScript(folder: string, names: readonly string[], script: string): Promise<Code> {
  const there = new Set(names);
  const texts: string[] = [];
  const own = new Set<string>();
  const seen = new Set([script]);
  for (const name of seen) {
    if (seen.size > MOST_MODULES) break;
    const text = await readFile(path.join(folder, name), 'utf8');
    texts.push(text);
    for (const module of modulesIn(text)) {
      const found = placesOf(module, name, script).find((place) => there.has(place));
      if (found === undefined) continue;
      seen.add(found);
      own.add(module.replace(/^\.+/, '').split('.')[0] ?? '');
    }
  }
  return { text: texts.join('\n'), own };
}

/** `from a.b import c` may mean the module a.b or a.b.c. */
function* modulesIn(text: string): Generator<string> {
  for (const [, from, parts = '', plain = ''] of text.matchAll(IMPORT))
    if (from === undefined) yield* plain.split(',').flatMap((one) => one.trim().split(/\s/, 1));
    else {
      yield from;
      for (const part of parts.split(',').flatMap((one) => one.trim().split(/\s/, 1)))
        if (part !== '') yield from.endsWith('.') ? `${from}${part}` : `${from}.${part}`;
    }
}

/** Files of the module: beside the importing one, beside the script, in the project's folder or in src/. */
function placesOf(module: string, importing: string, script: string): readonly string[] {
  const dots = /^\.*/.exec(module)?.[0].length ?? 0;
  const below = module.slice(dots).replaceAll('.', '/');
  const here = path.posix.dirname(importing);
  const roots =
    dots > 0
      ? [path.posix.join(here, ...Array.from({ length: dots - 1 }, () => '..'))]
      : [here, path.posix.dirname(script), '.', 'src'];
  return roots.flatMap((root) => {
    const place = path.posix.join(root, below);
    return [`${place}.py`, path.posix.join(place, '__init__.py')];
  });
}
