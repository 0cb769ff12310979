/**
 * Plugins of esbuild that keep unused parts of the AWS SDK out of the bundles. A cold start reads, compiles and runs
 * all of a bundle, on a third of a CPU where a function has 512 MB.
 */
const fs = require('node:fs/promises');
const { readdirSync, readFileSync } = require('node:fs');
const path = require('node:path');
const { brotliCompressSync } = require('node:zlib');
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

/** Every text of zod offers each format that a text can have. What declares a schema is `z.url()`, and a wrong call fails when a bundle loads. */
const noFormatsOfTexts = {
  name: 'no-formats-of-texts',
  setup(build) {
    build.onLoad({ filter: /zod[/\\]v4[/\\]classic[/\\]schemas\.js$/ }, async ({ path: file }) => ({
      contents: (await fs.readFile(file, 'utf8')).replace(/^ {4}\w+\(params\) \{\s+return this\.check\((?:core|iso)\._?\w+\((?:Zod\w+, )?params\)\);\s+\},?$/gm, ''),
    }));
  },
};

/** Tables of a bundle as text: an eighth of it, which is quicker to unpack than to compile. */
const compressedTables = {
  name: 'compressed-tables',
  setup(build) {
    build.onLoad({ filter: /packages[/\\].*\.json$/ }, async ({ path: file }) => {
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

/**
 * Of the clients, what no function uses: streams of events, DynamoDB's discovery of endpoints, which is off, hashes without
 * Node's, and the signature for several regions at once, whose class signs for one as the class here.
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
 * Most calls of a function that can read YAML read none, so its parser is unpacked and compiled at the first text: 100 KB.
 * Node.js gets the CommonJS build of `yaml`, of which esbuild drops nothing; the same code as ES modules is for pages.
 */
const yamlWhenRead = {
  name: 'yaml-when-read',
  setup(build) {
    const modules = path.join(path.dirname(require.resolve('yaml/package.json')), 'browser/dist/index.js');
    build.onResolve({ filter: /^yaml$/ }, () => ({ path: modules, namespace: 'when-read', sideEffects: false }));
    build.onLoad({ filter: /$/, namespace: 'when-read' }, async ({ path: file }) => {
      const { outputFiles } = await build.esbuild.build({
        stdin: { contents: `export { ${YAML_IN_USE.join(', ')} } from ${JSON.stringify(file)};`, resolveDir: __dirname },
        bundle: true,
        write: false,
        minify: true,
        format: 'cjs',
        target: 'node24',
      });
      const packed = brotliCompressSync(outputFiles[0].text).toString('base64');
      const offers = YAML_IN_USE.map((name) => `export const ${name} = (...given) => unpacked().${name}(...given);`);
      return {
        contents: `import { compileFunction } from 'node:vm';
import { brotliDecompressSync } from 'node:zlib';
let module;
function unpacked() {
  if (module === undefined) {
    module = {};
    compileFunction(brotliDecompressSync(Buffer.from('${packed}', 'base64')).toString(), ['module'])(module);
  }
  return module.exports;
}
${offers.join('\n')}`,
      };
    });
  },
};
const YAML_IN_USE = ['isPair', 'isScalar', 'isSeq', 'parse', 'parseDocument', 'visit'];

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

module.exports = [
  operationsInUse,
  credentialsOfLambda,
  versionsOfClients,
  documentBeside,
  noJsonSchema,
  noFormatsOfTexts,
  noDescriptions,
  noUnusedParts,
  yamlWhenRead,
  compressedTables,
  builtPage,
];

