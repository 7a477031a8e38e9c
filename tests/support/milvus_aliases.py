"""A proxy that gives Milvus Lite the aliases of a server: it forwards all requests, with names in place of aliases."""

from __future__ import annotations

from concurrent import futures
from typing import Any

import grpc
from google.protobuf.message_factory import GetMessageClass
from pymilvus.grpc_gen import common_pb2, milvus_pb2

METHODS = milvus_pb2.DESCRIPTOR.services_by_name["MilvusService"].methods_by_name
NOT_FOUND, TAKEN = 1600, 1602
OPTIONS = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]


class AliasProxy(grpc.GenericRpcHandler):
    """Listens at an address of its own, in front of another one.

    Attributes
    ----------
    aliases : dict
        The collection of each alias.
    """

    def __init__(self, behind: str) -> None:
        self.aliases: dict[str, str] = {}
        self._channel = grpc.insecure_channel(behind, options=OPTIONS)
        self._server = grpc.server(futures.ThreadPoolExecutor(4), options=OPTIONS)
        self._server.add_generic_rpc_handlers([self])
        self.address = f"http://127.0.0.1:{self._server.add_insecure_port('127.0.0.1:0')}"
        self._server.start()

    def stop(self) -> None:
        """Listen no more."""
        self._server.stop(None).wait()
        self._channel.close()

    def service(self, details: Any) -> Any:
        """Answer any method: requests and answers stay bytes."""
        name = details.method.rpartition("/")[2]

        def answer(request: bytes, context: Any) -> bytes:
            message = GetMessageClass(METHODS[name].input_type).FromString(request)
            if name.endswith("Alias"):
                return self._answer(name, message).SerializeToString()
            if getattr(message, "collection_name", None) in self.aliases:
                message.collection_name = self.aliases[message.collection_name]
            try:
                return self._channel.unary_unary(details.method)(message.SerializeToString())
            except grpc.RpcError as error:
                context.abort(error.code(), error.details())
                raise

        return grpc.unary_unary_rpc_method_handler(answer)

    def _answer(self, name: str, request: Any) -> Any:
        alias = request.alias
        if name == "DescribeAlias":
            if alias not in self.aliases:
                return milvus_pb2.DescribeAliasResponse(status=_status(NOT_FOUND, f"alias not found[alias={alias}]"))
            return milvus_pb2.DescribeAliasResponse(status=_status(), alias=alias, collection=self.aliases[alias])
        if name == "CreateAlias" and alias in self.aliases:
            return _status(TAKEN, f"{alias} is alias to another collection")
        if name == "AlterAlias" and alias not in self.aliases:
            return _status(NOT_FOUND, f"alias not found[alias={alias}]")
        self.aliases[alias] = request.collection_name
        return _status()


def _status(code: int = 0, reason: str = "") -> Any:
    return common_pb2.Status(code=code, reason=reason, error_code=1 if code else 0)
