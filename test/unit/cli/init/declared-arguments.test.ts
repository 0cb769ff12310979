/** Arguments of scripts that do not use argparse. */
import { expect, it } from 'vitest';
import { readScript } from '../../../../cli/init/script.ts';

const MAIN = "if __name__ == '__main__':";
const SCRIPTS: readonly (readonly [string, string, Readonly<Record<string, string>>])[] = [
  [
    'absl',
    "flags.DEFINE_string('data_dir', None, 'where (it lies)', required=True)\nflags.DEFINE_string('out_dir', 'out', '')\nflags.DEFINE_float('lr', 0.1, '')",
    { '--data_dir': 'data', '--out_dir': 'model' },
  ],
  [
    'fire',
    `def main(data_dir, out_dir='out', sizes=(1, 2), lr=0.1):\n    pass\n${MAIN} fire.Fire(main)`,
    { '--data_dir': 'data', '--out_dir': 'model' },
  ],
  [
    'typer',
    'import typer\napp = typer.Typer()\n@app.command()\ndef train(data_dir: str, epochs: int = 3, out_dir: str = typer.Option("out", help="x")):\n    pass',
    { 'data-dir': 'data', '--out-dir': 'model' },
  ],
  [
    'typer.run',
    'import typer\ndef main(\n    data: Path = typer.Argument(...),\n    output: str = "out",\n):\n    pass\ntyper.run(main)',
    { data: 'data', '--output': 'model' },
  ],
  [
    'tyro',
    "@dataclass\nclass Args:\n    data: str\n    out: str = 'out'\n    epochs: int = 3\nargs = tyro.cli(Args)",
    { '--data': 'data', '--out': 'model' },
  ],
];

it.each(SCRIPTS)('%s gives its arguments', (_, text, wanted) => {
  const { fills, unreadable } = readScript(text);
  expect(Object.fromEntries(fills.map(({ argument, what }) => [argument, what]))).toEqual(wanted);
  expect(unreadable).toBeUndefined();
});

it('plain defaults are settable', () => {
  const defaults = SCRIPTS.flatMap(([, text]) => readScript(text).defaults);
  expect(defaults).toEqual([
    ['--lr', '0.1'],
    ['--lr', '0.1'],
    ['--epochs', '3'],
    ['--epochs', '3'],
  ]);
});

it.each([
  ['@hydra.main(config_path="conf")\ndef main(cfg):', 'hydra'],
  ['data, model = sys.argv[1], sys.argv[2]', 'sys.argv'],
  ['cfg = json.load(open("config.json"))', 'a configuration file'],
])('%j is said to be unreadable', (text, how) => {
  expect(readScript(text).unreadable).toBe(how);
});
