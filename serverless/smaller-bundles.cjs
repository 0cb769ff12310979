/**
 * Plugins of esbuild that keep unused parts of the AWS SDK out of the bundles. A cold start reads, compiles and runs
 * all of a bundle, on a third of a CPU where a function has 512 MB.
 */
const fs = require('node:fs/promises');
const { readdirSync, readFileSync } = require('node:fs');
const path = require('node:path');
const { brotliCompressSync } = require('node:zlib');
const { builtPage } = require('./built-page.cjs');

const ADAPTERS = path.join(__dirname, '../functions/aws');

/** Classes of errors by which the adapters tell answers apart. */
const classesInUse = () =>
  new Set(
    readdirSync(ADAPTERS, { recursive: true })
      .filter((name) => name.endsWith('.ts'))
      .flatMap((name) => [...readFileSync(path.join(ADAPTERS, name), 'utf8').matchAll(/instanceof (\w+)/g)])
      .map(([, name]) => name),
  );

/**
 * An SDK client describes all operations of its service in one file: 563 KB of `place` were EC2's, for four operations.
 * esbuild drops an unused description only if it cannot have an effect, and takes a key that is computed (`[_eQN]:`)
 * for one. Those keys are constants of the same file, so their values can stand in their place.
 */
const operationsInUse = {
  name: 'operations-in-use',
  setup(build) {
    build.onLoad({ filter: /@aws-sdk[/\\]client-[^/\\]+[/\\]dist-es[/\\]schemas[/\\]schemas_0\.js$/ }, async ({ path: file }) => {
      const source = await fs.readFile(file, 'utf8');
      const constants = new Map([...source.matchAll(/^const (\w+) = ("[^"\\]*");$/gm)].map(([, name, value]) => [name, value]));
      const named = source.replace(/\[(_\w+)\]:/g, (computed, name) => `${constants.get(name) ?? computed.slice(0, -1)}:`);
      // An error without a class still has its name. SSM alone has 140 classes, which are 40 KB.
      const used = classesInUse();
      return {
        contents: named.replace(/^n0_registry\.registerError\(.*, (\w+)\);$/gm, (line, name) => (used.has(name) ? line : '')),
      };
    });
  },
};

/**
 * Lambda hands its credentials over in the environment. The other providers of the SDK's chain bring clients of SSO and
 * STS, or ask an instance or a container for its role. As they are imported dynamically, esbuild drops nothing that they
 * share with the rest.
 */
const credentialsOfLambda = {
  name: 'credentials-of-lambda',
  setup(build) {
    build.onLoad({ filter: /(?:@aws-sdk|@smithy)[/\\]credential-provider-(http|ini|process|sso|web-identity|imds)[/\\]/ }, ({ path: file }) => ({
      contents: `throw new Error('this bundle does not hold ${path.basename(file)} of ${/credential-provider-[\w-]+/.exec(file)[0]}');`,
    }));
  },
};

/**
 * Every schema of zod refers to what would write it as JSON Schema. Functions parse; `npm run generate` writes. A method
 * is made for each schema when it is declared, so what makes it must not throw itself.
 */
const noJsonSchema = {
  name: 'no-json-schema',
  setup(build) {
    build.onLoad({ filter: /zod[/\\]v4[/\\]core[/\\](to-json-schema|json-schema-processors)\.js$/ }, async ({ path: file }) => {
      const source = await fs.readFile(file, 'utf8');
      const names = [...source.matchAll(/^export (?:const|function) (\w+)/gm)].map(([, name]) => name);
      const absent = `const absent = () => { throw new Error('this bundle does not hold JSON Schema of zod: write it when building'); };`;
      const stubs = names.map((name) => `export const ${name} = ${name.startsWith('create') ? '() => absent' : 'absent'};`);
      return { contents: [absent, ...stubs].join('\n') };
    });
  },
};

/** Tables of a bundle as text: an eighth of it, which is quicker to unpack than to compile. */
const compressedTables = {
  name: 'compressed-tables',
  setup(build) {
    build.onLoad({ filter: /(docs[/\\]openapi|packages[/\\].*)\.json$/ }, async ({ path: file }) => {
      // Where its figures come from is for readers of the file.
      const { source: _source, note: _note, ...table } = JSON.parse(await fs.readFile(file, 'utf8'));
      const text = JSON.stringify(table);
      if (text.length < SMALL_TABLE) return { contents: text, loader: 'json' };
      const packed = brotliCompressSync(text).toString('base64');
      return {
        contents: `import { brotliDecompressSync } from 'node:zlib';\nexport default JSON.parse(brotliDecompressSync(Buffer.from('${packed}', 'base64')).toString());`,
      };
    });
  },
};
const SMALL_TABLE = 4_000;

const TEXT_OF_SCHEMA = /\.describe\(\s*(?:'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`),?\s*\)/g;

/** What schemas say of themselves is for documents, which `npm run generate` writes; each word of it costs a copy of its schema. */
const noDescriptions = {
  name: 'no-descriptions',
  setup(build) {
    build.onLoad({ filter: /[/\\](functions|packages)[/\\].*\.ts$/ }, async ({ path: file }) => {
      const source = await fs.readFile(file, 'utf8');
      if (file.includes('node_modules') || !source.includes('.describe(')) return undefined;
      // Lines stay where they are, for the source map.
      const contents = source.replace(TEXT_OF_SCHEMA, (text) => '\n'.repeat(text.split('\n').length - 1));
      return { contents, loader: 'ts' };
    });
  },
};

/** Of the clients, what no function uses: streams of events, and DynamoDB's discovery of endpoints, which is off. */
const noUnusedParts = {
  name: 'no-unused-parts',
  setup(build) {
    build.onLoad({ filter: /@smithy[/\\]core[/\\]dist-es[/\\]submodules[/\\]event-streams[/\\]index\.js$/ }, async ({ path: file }) => {
      const source = await fs.readFile(file, 'utf8');
      const names = [...source.matchAll(/(\w+)(?= *[,}][^;]*from)/g)].map(([, name]) => name);
      const absent = `const absent = () => { throw new Error('this bundle does not hold event streams'); };`;
      // Each client that has such an operation calls this one when it is made.
      const valueOf = (name) => (name === 'resolveEventStreamSerdeConfig' ? '(config) => config' : 'absent');
      return { contents: [absent, ...names.map((name) => `export const ${name} = ${valueOf(name)};`)].join('\n') };
    });
    build.onLoad({ filter: /@aws-sdk[/\\]endpoint-cache[/\\]dist-es[/\\]index\.js$/ }, () => ({
      contents: `const absent = () => { throw new Error('this bundle does not discover endpoints'); };
export class EndpointCache { getEndpoint() { absent(); } get() { absent(); } set() { absent(); } delete() { absent(); } has() { absent(); } clear() { absent(); } }`,
    }));
  },
};

/**
 * Node.js gets the CommonJS build of `yaml`, of which esbuild drops nothing. The package has the same code as ES modules,
 * for bundlers of pages. Without the word about effects a file that imports it holds a third of it, parser or not.
 */
const yamlAsModules = {
  name: 'yaml-as-modules',
  setup(build) {
    const folder = path.dirname(require.resolve('yaml/package.json'));
    build.onResolve({ filter: /^yaml$/ }, () => ({ path: path.join(folder, 'browser/dist/index.js'), sideEffects: false }));
  },
};

/** A client imports all of its package.json for its version, which it sends with each request. */
const versionsOfClients = {
  name: 'versions-of-clients',
  setup(build) {
    build.onLoad({ filter: /@aws-sdk[/\\]client-[^/\\]+[/\\]package\.json$/ }, async ({ path: file }) => {
      const { version } = JSON.parse(await fs.readFile(file, 'utf8'));
      return { contents: JSON.stringify({ version }), loader: 'json' };
    });
  },
};

module.exports = [
  operationsInUse,
  credentialsOfLambda,
  versionsOfClients,
  noJsonSchema,
  noDescriptions,
  noUnusedParts,
  yamlAsModules,
  compressedTables,
  builtPage,
];

