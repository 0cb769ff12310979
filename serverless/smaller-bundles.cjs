/**
 * Plugins of esbuild that leave out of the bundles, or put off, what few calls need (docs/decisions/0083). A cold start
 * reads, compiles and runs all of a bundle, on a third of a CPU where a function has 512 MB.
 */
const fs = require('node:fs/promises');
const { readdirSync, readFileSync } = require('node:fs');
const { isBuiltin } = require('node:module');
const path = require('node:path');
const { builtPage } = require('./built-page.cjs');

const FUNCTIONS = path.join(__dirname, '../functions');

let sources;
/** What the functions' code has of a form. */
function foundInCode(form) {
  sources ??= readdirSync(FUNCTIONS, { recursive: true })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => readFileSync(path.join(FUNCTIONS, name), 'utf8'));
  return new Set(sources.flatMap((source) => [...source.matchAll(form)].map(([, name]) => name)));
}
/** Classes of errors by which the adapters tell answers apart. */
const classesInUse = () => foundInCode(/instanceof (\w+)/g);
/** With what the SDK itself writes, for pages and for repeated requests. */
const namesInUse = () => foundInCode(/\b([A-Z]\w*)/g).union(new Set(['ClientToken', 'MaxResults', 'NextToken']));

const STRUCTURES = /^(export var [\w$]+ = \[3, n0, \w+,\s+(?:0|\{.*\}),\s+\[)([\w, ]*)(\],\s+\[)([^]*?)(\](?:, (\d+))?\s*\];)$/gm;
/** From one schema to the next, whatever they hold. */
const MEMBERS = /(?:\[(?:[^[\]]|\[[^\]]*\])*\]|[^,[\]]+)(?=,|$)/g;

/**
 * EC2 answers with all that it knows of a machine. The SDK passes over what a description lacks, and a request has only
 * members that the code writes.
 */
const withoutUnusedMembers = (source, constants, used) =>
  source.replace(STRUCTURES, (...[whole, head, names, middle, schemas, end, required = 0]) => {
    const all = names.split(', ');
    const each = [...schemas.matchAll(MEMBERS)].map(([schema]) => schema.trim());
    if (each.length !== all.length) throw new Error(`a description of ${all.length} members and ${each.length} schemas: ${whole}`);
    const kept = [...all.keys()].filter((at) => at < required || used.has(constants.get(all[at])?.slice(1, -1)));
    return head + kept.map((at) => all[at]).join(', ') + middle + kept.map((at) => each[at]).join(', ') + end;
  });

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
      const members = file.includes('client-ec2') ? withoutUnusedMembers(source, constants, namesInUse()) : source;
      const named = members.replace(/\[(_\w+)\]:/g, (computed, name) => `${constants.get(name) ?? computed.slice(0, -1)}:`);
      // An error without a class still has its name. SSM alone has 140 classes, which are 40 KB.
      const used = classesInUse();
      return {
        contents: named.replace(/^n0_registry\.registerError\(.*, (\w+)\);$/gm, (line, name) => (used.has(name) ? line : '')),
      };
    });
  },
};

/**
 * Lambda hands its credentials over in the environment, and region and endpoints too. The other providers of the SDK's chain
 * bring clients of SSO and STS, or ask an instance or a container for its role, and a function has no `~/.aws`.
 */
const environmentOfLambda = {
  name: 'environment-of-lambda',
  setup(build) {
    build.onLoad({ filter: /@aws-sdk[/\\]credential-provider-node[/\\]dist-es[/\\]index\.js$/ }, ({ path: file }) => ({
      contents: `export { fromEnv as defaultProvider } from '@aws-sdk/credential-provider-env';`,
      resolveDir: path.dirname(file),
    }));
    build.onLoad({ filter: /[/\\]getInstanceMetadataRegion\.js$/ }, () => ({
      contents: 'export const getInstanceMetadataRegion = async () => undefined;',
    }));
    build.onLoad({ filter: /[/\\]shared-ini-file-loader[/\\]loadSharedConfigFiles\.js$/ }, ({ path: file }) => ({
      contents: `export { CONFIG_PREFIX_SEPARATOR } from './constants';
export const loadSharedConfigFiles = async () => ({ configFile: {}, credentialsFile: {} });`,
      resolveDir: path.dirname(file),
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

/** Every text of zod offers each format that a text can have. What declares a schema is `z.url()`, and a wrong call fails when a bundle loads. */
const noFormatsOfTexts = {
  name: 'no-formats-of-texts',
  setup(build) {
    build.onLoad({ filter: /zod[/\\]v4[/\\]classic[/\\]schemas\.js$/ }, async ({ path: file }) => ({
      contents: (await fs.readFile(file, 'utf8')).replace(/^ {4}\w+\(params\) \{\s+return this\.check\((?:core|iso)\._?\w+\((?:Zod\w+, )?params\)\);\s+\},?$/gm, ''),
    }));
  },
};

/** What a bundle reads by its path lies beside it. Its text is the importer's `pluginData`. */
const filesBeside = {
  name: 'files-beside',
  setup(build) {
    build.onResolve({ filter: /^beside:/ }, ({ path: name, importer, pluginData }) => ({
      path: path.join(path.dirname(importer), name.slice('beside:'.length)),
      namespace: 'beside',
      pluginData,
    }));
    build.onLoad({ filter: /$/, namespace: 'beside' }, ({ pluginData: contents }) => ({ contents, loader: 'file' }));
  },
};

/** A table is quicker to read as JSON than to compile. */
const tablesBeside = {
  name: 'tables-beside',
  setup(build) {
    build.onLoad({ filter: /(functions|packages)[/\\].*\.json$/ }, async ({ path: file }) => {
      // Where its figures come from is for readers of the file.
      const { source: _source, note: _note, ...table } = JSON.parse(await fs.readFile(file, 'utf8'));
      const text = JSON.stringify(table);
      if (text.length < SMALL_TABLE) return { contents: text, loader: 'json' };
      return {
        contents: `import { readFileSync } from 'node:fs';
import file from 'beside:${path.basename(file)}';
export default JSON.parse(readFileSync(new URL(file, import.meta.url), 'utf8'));`,
        pluginData: text,
      };
    });
  },
};
const SMALL_TABLE = 4_000;

const TEXT_OF_SCHEMA = /\.describe\(\s*(?:'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`),?\s*\)/g;

/** What an operation of the API answers with is for documents too. */
const ANSWER = /^( {2}| {4})answer: .*(?:\n\1[ )\]}].*)*/gm;
/** Lines stay where they are, for the source map. */
const onlyLines = (text) => '\n'.repeat(text.split('\n').length - 1);

/** A constant that a call makes, as biome writes it: on one line, up to the next one at the margin, or a chain of methods. */
const MADE = /^((?:export )?const \w+(?:: .+?)? =)(\s+(?:[\w.]+\n(?: .*\n)*? {2}\S.*|(?:(?:new )?[\w.]+\(|[{[]).*?(?:(?:\n(?: .*)?)*?\n[)\]}].*?)?));$/gm;

/** What schemas declare is made when it is first read, and little of it is in one call of a function: all of it is a third of a start. */
const LATER = `export const $later = (make) => {
  let made;
  const it = () => (made ??= make());
  // A contract test makes all of them.
  globalThis.$schemas?.push(it);
  return new Proxy({}, {
    get: (_, name) => it()[name],
    has: (_, name) => name in it(),
    ownKeys: () => Reflect.ownKeys(it()),
    getOwnPropertyDescriptor: (_, name) => {
      const own = Reflect.getOwnPropertyDescriptor(it(), name);
      return own && { ...own, configurable: true };
    },
    set: () => false,
  });
};`;
/** What a schema's method makes, or an object of schemas: never a function, a list or a plain value. */
const LATER_MADE = /^(?:export )?const (?:\w+Schema\b[^]*|\w+(?:: .+?)? =\s+(?:[a-z]\w*\s*\.[^]*\)|\{[^]*\bz\s*\.[^]*\}(?: as const| satisfies \w+)?));$/;

const ZOD = "import * as z from 'zod';";

/**
 * Modules of ours only declare, which esbuild has to be shown: it keeps what a call makes although no function of the bundle
 * uses it. What schemas say of themselves is for documents, which `npm run generate` writes.
 */
const onlyWhatIsUsed = {
  name: 'only-what-is-used',
  setup(build) {
    build.onResolve({ filter: /^later:$/ }, ({ path: name }) => ({ path: name, namespace: 'later', sideEffects: false }));
    build.onLoad({ filter: /$/, namespace: 'later' }, () => ({ contents: LATER }));
    build.onLoad({ filter: /[/\\](functions|packages)[/\\].*\.ts$/ }, async ({ path: file }) => {
      if (file.includes('node_modules')) return undefined;
      const source = await fs.readFile(file, 'utf8');
      const contents = source
        .replace(MADE, (whole, head, value) => {
          if (!value.includes('(')) return whole;
          const made = `() => (${value})`;
          return `${head} /* @__PURE__ */ ${source.includes(ZOD) && LATER_MADE.test(whole) ? `$later(${made})` : `(${made})()`};`;
        })
        .replace(file.includes('operations') ? ANSWER : /$^/, onlyLines)
        .replace(TEXT_OF_SCHEMA, onlyLines);
      return { contents: `${contents}\nimport { $later } from 'later:';`, loader: 'ts' };
    });
  },
};

/**
 * Leaves out of the clients what no function uses: streams of events, extensions, DynamoDB's discovery of endpoints, which is
 * off, adaptive retries, hashes without Node's, and the signature for several regions at once, whose class signs for one as the
 * class here.
 */
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
    build.onLoad({ filter: /@smithy[/\\]core[/\\].*[/\\](Sha256|Md5)Js\.js$/ }, ({ path: file }) => ({
      contents: `export const ${path.basename(file, '.js')} = undefined;`,
    }));
    build.onLoad({ filter: /@aws-sdk[/\\]client-[^/\\]+[/\\]dist-es[/\\]runtimeExtensions\.js$/ }, () => ({
      contents: 'export const resolveRuntimeExtensions = (config) => config;',
    }));
    build.onLoad({ filter: /@smithy[/\\].*[/\\]HeaderFormatter\.js$/ }, () => ({ contents: 'export class HeaderFormatter {}' }));
    const noRates = `throw new Error('this bundle holds no adaptive retries: unset AWS_RETRY_MODE');`;
    build.onLoad({ filter: /@smithy[/\\].*[/\\]DefaultRateLimiter\.js$/ }, () => ({
      contents: `export class DefaultRateLimiter { constructor() { ${noRates} } }`,
    }));
    build.onLoad({ filter: /[/\\]SignatureV4MultiRegion\.js$/ }, () => ({
      contents: `import { SignatureV4 } from '@smithy/signature-v4';
export class SignatureV4MultiRegion extends SignatureV4 { static sigv4aDependency() { return 'none'; } }`,
      resolveDir: __dirname,
    }));
    build.onLoad({ filter: /@aws-sdk[/\\]middleware-endpoint-discovery[/\\]dist-es[/\\]index\.js$/ }, () => ({
      contents: `export const resolveEndpointDiscoveryConfig = (config) => config;
export const NODE_ENDPOINT_DISCOVERY_CONFIG_OPTIONS = { environmentVariableSelector() {}, configFileSelector() {}, default: false };`,
    }));
  },
};

/**
 * Most calls of a function that can read YAML, or write Parquet, do neither, so what does is loaded at the first such call. Node.js
 * gets the CommonJS build of `yaml`, of which esbuild drops nothing; the same code as ES modules is for pages.
 */
const whenRead = {
  name: 'when-read',
  setup(build) {
    const entries = { yaml: path.join(path.dirname(require.resolve('yaml/package.json')), 'browser/dist/index.js') };
    build.onResolve({ filter: /^(yaml|hyparquet)/ }, ({ path: name }) =>
      Object.hasOwn(WHEN_READ, name) ? { path: name, namespace: 'when-read', sideEffects: false } : undefined,
    );
    build.onLoad({ filter: /$/, namespace: 'when-read' }, async ({ path: name }) => {
      const { outputFiles } = await build.esbuild.build({
        stdin: { contents: `export { ${WHEN_READ[name].join(', ')} } from ${JSON.stringify(entries[name] ?? name)};`, resolveDir: __dirname },
        bundle: true,
        write: false,
        minify: true,
        format: 'cjs',
        target: 'node24',
      });
      const offers = WHEN_READ[name].map(
        (each) => `export function ${each}(...given) { const { ${each}: it } = library(); return new.target ? new it(...given) : it(...given); }`,
      );
      return {
        contents: `import { createRequire } from 'node:module';
import file from 'beside:${path.parse(name).name}.cjs';
let loaded;
const library = () => (loaded ??= createRequire(import.meta.url)(file));
${offers.join('\n')}`,
        pluginData: outputFiles[0].text,
      };
    });
  },
};
const WHEN_READ = {
  yaml: ['isPair', 'isScalar', 'isSeq', 'parse', 'parseDocument', 'visit'],
  hyparquet: ['parquetMetadata'],
  'hyparquet-writer': ['ByteWriter'],
  'hyparquet-writer/src/datapage.js': ['writePageHeader'],
  'hyparquet-writer/src/metadata.js': ['writeMetadata'],
};

/** A document that one call reads lies beside the bundle, at the same path from a bundle as from the file that imports it. */
const documentBeside = {
  name: 'document-beside',
  setup(build) {
    build.onResolve({ filter: /^[.]{2}[/][.]{2}[/][.]{2}[/]docs[/]openapi\.json$/ }, ({ path: file }) => ({ path: file, external: true }));
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

/**
 * An import of a module of Node's reads each of its members: of http also WebSocket, which loads undici, of process its
 * streams, of tls all certificates. The module itself gives each when it is used.
 */
const nodeItself = {
  name: 'node-itself',
  setup(build) {
    build.onResolve({ filter: /^(node:)?[a-z0-9_]+([/][a-z]+)?$/ }, ({ path: name }) =>
      isBuiltin(name) ? { path: name, namespace: 'node', sideEffects: false } : undefined,
    );
    build.onLoad({ filter: /$/, namespace: 'node' }, ({ path: name }) => ({
      contents: `const it = process.getBuiltinModule('${name}');\nmodule.exports = typeof it === 'function' || it === process ? it : Object.create(it);`,
    }));
  },
};

module.exports = [
  operationsInUse,
  environmentOfLambda,
  versionsOfClients,
  documentBeside,
  noJsonSchema,
  noFormatsOfTexts,
  builtPage,
  onlyWhatIsUsed,
  noUnusedParts,
  whenRead,
  filesBeside,
  tablesBeside,
  nodeItself,
];

