/**
 * The Lambda layer that holds sharp, for stacks whose pipelines prepare images: `osls deploy --param="images=yes"`.
 * sharp is native, so what goes to AWS is the build for Lambda's processor (arm64), whatever machine deploys; into the
 * local region (AWS_ENDPOINT_URL) goes the build that is installed here, for it is this machine that runs it.
 * Versions and digests are those of package-lock.json.
 */
const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');

const ROOT = path.join(__dirname, '..');
const MODULES = 'node_modules/';
const isLocal = () => process.env.AWS_ENDPOINT_URL !== undefined;

/** Where the lock puts a package that is needed at a place: as near as possible, as Node looks for it. */
function placeOf(name, from, packages) {
  for (let at = from; ; at = at.slice(0, Math.max(0, at.lastIndexOf(MODULES) - 1))) {
    const place = `${at === '' ? '' : `${at}/`}${MODULES}${name}`;
    if (packages[place] !== undefined) return place;
    if (at === '') return undefined;
  }
}

/** Entries of the lock for what is needed there, with all that it needs; also for other processors, npm takes its pick. */
function lockOf(name, from, packages, found = new Map()) {
  const place = placeOf(name, from, packages);
  if (place === undefined || found.has(place)) return found;
  const entry = packages[place];
  found.set(place, entry);
  for (const needed of Object.keys({ ...entry.dependencies, ...entry.optionalDependencies }))
    lockOf(needed, place, packages, found);
  return found;
}

/** Installs for Linux on arm64, as Lambda has it; nothing of the packages is run. */
function installForLambda(folder, version, packages) {
  const own = { name: 'tidewheel-images', version: '0.0.0', private: true, dependencies: { sharp: version } };
  const lock = { ...own, lockfileVersion: 3, requires: true, packages: { '': own, ...Object.fromEntries(packages) } };
  fs.writeFileSync(path.join(folder, 'package.json'), JSON.stringify(own));
  fs.writeFileSync(path.join(folder, 'package-lock.json'), JSON.stringify(lock));
  const platform = ['--os=linux', '--cpu=arm64', '--libc=glibc'];
  execFileSync('npm', ['ci', ...platform, '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'inherit'],
    shell: process.platform === 'win32',
  });
}

function copyInstalled(folder, packages) {
  for (const [place] of packages) {
    const from = path.join(ROOT, place);
    if (fs.existsSync(from)) fs.cpSync(from, path.join(folder, place), { recursive: true });
  }
}

/** @returns the layer's folder, relative to the project; made once for each version and processor */
function build() {
  const lock = JSON.parse(fs.readFileSync(path.join(ROOT, 'package-lock.json'), 'utf8'));
  const packages = lockOf('sharp', '', lock.packages);
  const { version } = packages.get(`${MODULES}sharp`);
  const target = isLocal() ? `${process.platform}-${process.arch}` : 'linux-arm64';
  const layer = path.join('.tidewheel', 'layers', `sharp-${version}-${target}${isLocal() ? '-local' : ''}`);
  const folder = path.join(ROOT, layer);
  if (fs.existsSync(folder)) return layer;
  const fresh = `${folder}.${process.pid}`;
  const nodejs = path.join(fresh, 'nodejs');
  fs.mkdirSync(nodejs, { recursive: true });
  if (isLocal()) copyInstalled(nodejs, packages);
  else installForLambda(nodejs, version, packages);
  if (!fs.existsSync(path.join(nodejs, MODULES, '@img', `sharp-${target}`)))
    throw new Error(`sharp ${version} has no build for ${target} here: run "npm ci", or look whether the registry answers`);
  /** Of two builds at once the first counts. */
  try {
    fs.renameSync(fresh, folder);
  } catch (error) {
    if (!fs.existsSync(folder)) throw error;
    fs.rmSync(fresh, { recursive: true });
  }
  return layer;
}

async function wanted({ resolveVariable }) {
  const images = await resolveVariable("param:images, 'no'");
  if (images !== 'yes' && images !== 'no') throw new Error(`--param="images=${images}": write yes or no`);
  return images === 'yes';
}

module.exports = {
  lockOf,
  layers: async (context) =>
    (await wanted(context))
      ? {
          sharp: {
            path: build(),
            description: 'sharp, which prepares images',
            compatibleRuntimes: ['nodejs24.x'],
            compatibleArchitectures: ['arm64'],
          },
        }
      : {},
  /** For the function that prepares. */
  attached: async (context) => ((await wanted(context)) ? [{ Ref: 'SharpLambdaLayer' }] : []),
};
