import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { pythonLocks } from '../../../../cli/setup/places.mjs';

interface Locked {
  readonly version?: string;
  readonly link?: boolean;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
  packages: Readonly<Record<string, Locked>>;
};
const nameOf = (place: string): string =>
  place.slice(place.lastIndexOf('node_modules/') + 'node_modules/'.length);

describe('package-lock.json', () => {
  it('holds every platform’s packages', () => {
    const locked = new Set(Object.keys(packages).map(nameOf));
    const missing = Object.values(packages)
      .flatMap(({ optionalDependencies = {} }) => Object.keys(optionalDependencies))
      .filter((name) => !locked.has(name));
    expect(missing).toEqual([]);
  });

  it('pins a version of everything', () => {
    const loose = Object.entries(packages).filter(([place, { version, link }]) => place && !version && !link);
    expect(loose).toEqual([]);
  });
});

describe('the Python locks', () => {
  const files = [
    'training/requirements.lock',
    'training/requirements-dev.lock',
    'emulators/aws/requirements.lock',
  ];
  const pins = files.map((file) =>
    readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line && !line.startsWith('#')),
  );

  it('give a host pip without the packages for tests', () => {
    // An environment of uv has none, and a source with a requirements.txt could not start in a fresh clone.
    expect(pythonLocks.run.map((file) => readFileSync(file, 'utf8')).join('\n')).toMatch(/^pip==/m);
  });

  it('pin everything', () => {
    expect(pins.flat().filter((line) => !/^[a-z0-9._-]+==\S+( ; .+)?$/.test(line))).toEqual([]);
  });

  it('agree, for they share one environment', () => {
    const blobVersions = (lines: readonly string[], name: string) =>
      lines.flatMap((line) => (line.startsWith(`${name}==`) ? [line.split(/==| ; /)[1]] : []));
    const names = new Set(pins.flat().map((line) => line.split('==')[0] ?? ''));
    const differing = [...names].filter((name) => {
      const found = pins.map((lines) => blobVersions(lines, name)).filter((versions) => versions.length > 0);
      // A lock whose others need a package on older Pythons only names it for those alone.
      const all = new Set(found.flat());
      return !found.some((versions) => new Set(versions).size === all.size);
    });
    expect(differing).toEqual([]);
  });
});
