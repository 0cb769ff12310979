/**
 * Stacks of errors in lines of the sources, by the map beside a bundle. Node's `--enable-source-maps` looks at each
 * character of a bundle when it loads, a tenth of a cold start; here the map is read for the first stack that is read.
 */
import { existsSync, readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { fileURLToPath } from 'node:url';
import { once } from '@tidewheel/kit/once.ts';

const PLACE = /(file:[^\s:]+):(\d+):(\d+)/g;

/** @param bundle its URL; of a file without a map, stacks stay as they are */
export function readStacksBySources(bundle: string): void {
  const file = `${fileURLToPath(bundle)}.map`;
  if (!existsSync(file)) return;
  // oxlint-disable-next-line typescript/no-unsafe-argument -- esbuild wrote it
  const map = once(() => new SourceMap(JSON.parse(readFileSync(file, 'utf8'))));
  Error.prepareStackTrace = (error, calls) =>
    [String(error), ...calls.map(String)].join('\n    at ').replaceAll(PLACE, (place, url, line, column) => {
      const origin = url === bundle && map().findOrigin(Number(line), Number(column));
      if (!origin || !('fileName' in origin)) return place;
      return `${origin.fileName.replace(/^(\.\.\/)+/, '')}:${origin.lineNumber}:${origin.columnNumber}`;
    });
}
