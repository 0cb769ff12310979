/** Rules of the house that a reader could break without noticing: each is read from the files themselves. */

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { FORMAT_NAMES } from '@tidewheel/declaration/packing-settings.ts';
import { describe, expect, it } from 'vitest';

const ROOT = path.join(import.meta.dirname, '../../..');
const read = (...parts: string[]) => readFileSync(path.join(ROOT, ...parts), 'utf8');
const sources = (folder: string): string[] =>
  readdirSync(path.join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => path.join(folder, name));
const code = (file: string) => read(file).replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '');
/** Files of a folder whose code matches. */
const breakers = (folder: string, pattern: RegExp, allowed: (file: string) => boolean = () => false) =>
  sources(folder).filter((file) => !allowed(file) && pattern.test(code(file)));

const folders = readdirSync(path.join(ROOT, 'functions/handlers'), { withFileTypes: true })
  .filter(
    (entry) =>
      entry.isDirectory() && existsSync(path.join(ROOT, 'functions/handlers', entry.name, 'handler.ts')),
  )
  .map(({ name }) => name);

/** Text of the file in which a name is defined: itself, or what a door takes it from. */
function definitionOf(file: string, name: string): string {
  const text = read(file);
  const taken = [...text.matchAll(/export \{([^}]*)\} from '\.\/([^']+)'/g)].find(([, names = '']) =>
    names.split(',').some((each) => each.trim() === name),
  );
  return taken?.[2] === undefined ? text : read(path.join(path.dirname(file), taken[2]));
}

describe('a function', () => {
  it('hands its event to one use case', () => {
    const imported =
      /import \{([^}]+)\} from '(?:\.\.\/\.\.\/((?:run|records|launch|notices|check|api)\/[^']+)|@tidewheel\/([^']+))'/g;
    const isAsync = (file: string, name: string) =>
      new RegExp(`export (async function ${name}\\b|const ${name} = (async )?\\([^=]*\\): Promise<)`).test(
        definitionOf(file, name),
      );
    const useCases = folders.map((folder) => {
      const handler = read('functions/handlers', folder, 'handler.ts');
      // What a port is made of, such as `computeOf: (name) => declaredCompute(...)`, is handed on.
      const isCalled = (name: string) => new RegExp(`(?<!\\w: \\(.*\\) => )\\b${name}\\(`).test(handler);
      const named = [...handler.matchAll(imported)].flatMap(([, names = '', room, door = '']) =>
        names
          .split(',')
          .filter(
            (name) =>
              isAsync(room ? `functions/${room}` : `packages/${door}`, name.trim()) && isCalled(name.trim()),
          ),
      );
      return [folder, named.length] as const;
    });
    expect(useCases.filter(([, count]) => count !== 1)).toEqual([]);
  });
});

/** Rooms of the service whose files decide; `aws`, `wiring` and the handlers meet the world for them. */
const RULES = ['records', 'launch', 'run', 'notices', 'check', 'api'].map((room) => `functions/${room}`);

describe.each(RULES)('the rules in %s', (room) => {
  it('know no AWS package, no process, no clock', () => {
    expect(breakers(room, /from '(@aws-sdk|@smithy|@aws-lambda-powertools|@middy|aws-sdk)/)).toEqual([]);
    expect(breakers(room, /from '(\.\.\/)+(aws|wiring)\//)).toEqual([]);
    expect(
      breakers(room, /\bprocess\.|\bDate\.now\(|\bnew Date\(\)|\bMath\.random\(|\bsetTimeout\(/),
    ).toEqual([]);
  });
});

/** What programs on a machine share: it prints, makes folders and signs. */
const IMPURE = ['command-line.ts', 'files.ts', 'signed-headers.ts', 'temporary-folder.ts'].map(
  (file) => `packages/kit/${file}`,
);

describe('packages', () => {
  it('know no AWS SDK, clock, chance or environment', () => {
    const impure = (file: string) => IMPURE.includes(file) || /^packages\/\w+\/tests\//.test(file);
    expect(breakers('packages', /from '(@aws-sdk|@smithy|@aws-lambda-powertools|@middy)/, impure)).toEqual(
      [],
    );
    expect(
      breakers(
        'packages',
        /\bprocess\.|\bDate\.now\(|\bnew Date\(\)|\bMath\.random\(|\bsetTimeout\(/,
        impure,
      ),
    ).toEqual([]);
  });
});

describe('a shard format', () => {
  it('is named only where it is implemented and declared', () => {
    const homes = ['packages/packing/formats/', 'packages/declaration/schema/shard-formats.ts'];
    const name = new RegExp(`['"\`](${FORMAT_NAMES.join('|')})['"\`]`);
    const outside = ['functions', 'packages', 'cli', 'emulators', 'bench'].flatMap((folder) =>
      breakers(
        folder,
        name,
        (file) => homes.some((home) => file.startsWith(home)) || file.includes('/tests/'),
      ),
    );
    expect(outside).toEqual([]);
  });
});

describe('SDK clients', () => {
  it('are made only in functions/aws', () => {
    const outside = (file: string) => file.startsWith('functions/aws/');
    expect(breakers('functions', /new [A-Z]\w*Client\(/, outside)).toEqual([]);
    expect(breakers('functions', /from '@aws-sdk\//, outside)).toEqual([]);
  });
});

describe('stored bytes', () => {
  it('are cast to no type', () => {
    const casting =
      /(JSON\.parse\([^;]*\)|\.json\(\)\)?)\s+as (?!unknown)|: (?!unknown\b)[^=;:()]*= (await )?JSON\.parse\(/;
    const places = ['functions', 'packages', 'cli', 'emulators', 'client', 'statemachines'];
    const files = places.flatMap((folder) => breakers(folder, casting, (file) => /\/tests\//.test(file)));
    expect(files).toEqual([]);
  });
});

describe('a document of hosts and scripts', () => {
  it('is read within its bounds, in one place', () => {
    const readings =
      /\.readText\((?:[^(),]|\([^()]*\))+,|\.readText\(bucketKeys\.(progress|attemptScores|scores)\(/;
    const files = RULES.flatMap((room) => breakers(room, readings));
    expect(files).toEqual(['functions/records/host-files.ts']);
  });
});

describe('an HTTP server', () => {
  it('is made where no request ends it', () => {
    const making = /\bhttps?\.createServer\(|createServer\b[^;]*from 'node:https?'/;
    const outside = ['functions', 'cli', 'emulators', 'packages', 'bench', 'client'].flatMap((folder) =>
      breakers(
        folder,
        making,
        (file) => file === 'emulators/access/local-server.ts' || file.startsWith('emulators/tests/'),
      ),
    );
    expect(outside).toEqual([]);
  });
});

describe('a unit test', () => {
  it('opens no server', () => {
    // Unit tests share their modules: a client that one file mocks answers nothing to another file, in some orders.
    const opening = /\bcreateServer\(|\.listen\(/;
    const folders = ['packages', 'test/unit', 'emulators/tests/unit'];
    const files = folders.flatMap((folder) =>
      breakers(folder, opening, (file) => !file.endsWith('.test.ts')),
    );
    expect(files).toEqual([]);
  });
});

describe('the environment', () => {
  it('is read where it is checked, except the endpoint', () => {
    // Both ways to AWS, the SDK's clients and the fast data path, take the endpoint from the SDK's own variables.
    const readers = new Set([
      'functions/aws/shared/config.ts',
      'functions/aws/shared/clients.ts',
      'functions/aws/s3/open-store.ts',
    ]);
    expect(breakers('functions', /process\.env|\benv\[/, (file) => readers.has(file))).toEqual([]);
  });

  it('is logged nowhere', () => {
    expect(breakers('functions', /(log|logger)\w*\.?\w*\([^)]*process\.env/)).toEqual([]);
  });
});
