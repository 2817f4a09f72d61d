// Starts `dslc lsp` and hands it the documents that it knows.
"use strict";

const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

async function start() {
  const settings = vscode.workspace.getConfiguration("dslc");
  const [command, ...args] = settings.get("command");
  const documents = [{ scheme: "file", language: "tile" }];
  if (settings.get("python")) {
    documents.push({ scheme: "file", language: "python" });
  }
  const options = {
    documentSelector: documents,
    initializationOptions: {
      target: settings.get("target"),
      dims: settings.get("dims"),
      costs: settings.get("costs"),
    },
  };
  client = new LanguageClient("dslc", "Tile", { command, args }, options);
  try {
    await client.start();
  } catch (failure) {
    client = undefined;
    vscode.window.showErrorMessage(
      `${[command, ...args].join(" ")} does not start (pip install 'dslc[lsp]'): ${failure.message}`,
    );
  }
}

async function stop() {
  const running = client;
  client = undefined;
  await running?.stop();
}

async function restart() {
  await stop();
  await start();
}

const debuggers = {
  createDebugAdapterDescriptor() {
    const [command, ...args] = vscode.workspace.getConfiguration("dslc").get("command");
    return new vscode.DebugAdapterExecutable(command, [...args.slice(0, -1), "debug", "--dap"]);
  },
};

async function activate(context) {
  context.subscriptions.push(
    vscode.debug.registerDebugAdapterDescriptorFactory("tile", debuggers),
    vscode.commands.registerCommand("dslc.restart", restart),
    vscode.workspace.onDidChangeConfiguration((change) =>
      change.affectsConfiguration("dslc") ? restart() : undefined,
    ),
  );
  await start();
}

module.exports = { activate, deactivate: stop };
