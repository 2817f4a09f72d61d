"""The custom forms of the aie and aiex dialects, of mlir-aie 1.4 and of the releases before 1.3.5.

The facts are those of the dialects' assembly formats (AIEOps.td, AIEX.td). Where a release changed a
form both are read: attributes in braces or values for the amounts of locks and registers, and for a
shim allocation a tile or a column.
"""

from __future__ import annotations

AIE = {
    "aie.amsel": "< int:arbiterID > ( int:msel ) attrs => index",
    "aie.cascade_flow": "( operand , operand ) attrs",
    "aie.configure_cascade": "( operand , word:inputDir , word:outputDir ) attrs",
    "aie.connect": "< word:source_bundle : int:source_channel , word:dest_bundle : "
    "int:dest_channel > attrs",
    "aie.core": "( operand ) region attrs => index",
    "aie.debug": "( operand : type ) attrs",
    "aie.dma_bd_packet": "( int:packet_type , int:packet_id ) attrs",
    "aie.dma_start": "( word:channel_dir , int:channel_index , succ , succ "
    "[? , repeat_count = int:repeat_count ]? ) attrs => i1",
    "aie.end": "attrs",
    "aie.event": "( int:val ) attrs",
    "aie.external_buffer": "attrs : type => t0",
    "aie.flow": "( operand , word:source_bundle : int:source_channel , operand , word:dest_bundle : "
    "int:dest_channel ) attrs",
    "aie.get_cascade": "( ) attrs : type => t0",
    "aie.get_stream": "( operand : type ) attrs : type => t-1",
    "aie.lock": "( operand [? , int:lockID ]? ) attrs => index",
    "aie.masterset": "( word:dest_bundle : int:dest_channel , operands ) attrs => index",
    "aie.mem": "( operand ) region attrs => index",
    "aie.memtile_dma": "( operand ) region attrs => index",
    "aie.next_bd": "succ attrs",
    "aie.objectfifo.acquire": "symbol:objFifo_name ( word:port , int:size ) attrs : types => all",
    "aie.objectfifo.register_external_buffers": "symbol:objFifo_name ( operand , { operands } ) "
    "attrs : ( types )",
    "aie.objectfifo.release": "symbol:objFifo_name ( word:port , int:size ) attrs",
    "aie.objectfifo.subview.access": "operand [ int:index ] attrs : type -> type => t-1",
    "aie.objectfifo.link": "list:fifoIns -> list:fifoOuts ( [? list:src_offsets list:dst_offsets ]? ) "
    "attrs",
    "aie.packet_dest": "< operand , word:bundle : int:channel > attrs",
    "aie.packet_flow": "( int:ID ) region:aie.end attrs",
    "aie.packet_rules": "( word:source_bundle : int:source_channel ) region:aie.end attrs",
    "aie.packet_source": "< operand , word:bundle : int:channel > attrs",
    "aie.plio": "( int:col ) attrs => index",
    "aie.put_cascade": "( operand : type ) attrs",
    "aie.put_stream": "( operand : type , operand : type ) attrs",
    "aie.rule": "( int:mask , int:value , operand ) attrs",
    "aie.shim_dma": "( operand ) region attrs => index",
    "aie.shim_dma_allocation": "symbol:sym_name ( [? operand , ]? word:channel_dir , "
    "int:channel_index [? , int:col ]? [? , attr:packet ]? ) attrs",
    "aie.shim_mux": "( operand ) region:aie.end attrs => index",
    "aie.switchbox": "( operand ) region:aie.end attrs => index",
    "aie.trace": "symbol:sym_name ( operand ) region attrs",
    "aie.tile": "( int:col , int:row ) attrs => index",
    "aie.use_lock": "( operand , word:action [? , amount:value ]? [? , word:blocking ]? ) attrs",
    "aie.wire": "( operand : word:source_bundle , operand : word:dest_bundle ) attrs",
}
AIEX = {
    "aiex.buffer_clear": "( operand , int:offset , int:words ) attrs",
    "aiex.configure": "symbol:symbol region attrs",
    "aiex.control_packet": "attrs",
    "aiex.core_reset": "( operand ) attrs",
    "aiex.dma_await_task": "( operand ) attrs",
    "aiex.dma_channel_reset": "( operand , word:direction , int:channel ) attrs",
    "aiex.dma_configure_task": "( operand , word:direction , int:channel [? , attr:packet ]? ) "
    "[? repeat operand : type ]? [? bd_id operand : type ]? region attrs => index",
    "aiex.dma_configure_task_for": "symbol:alloc [? repeat operand : type ]? region attrs => index",
    "aiex.dma_free_task": "( operand ) attrs",
    "aiex.dma_start_bd_chain": "symbol:symbol ( operands ) : ( types ) on ( operand , "
    "word:direction , int:channel ) attrs => index",
    "aiex.dma_start_bd_chain_for": "symbol:symbol ( operands ) : ( types ) for symbol:alloc attrs "
    "=> index",
    "aiex.dma_start_task": "( operand ) attrs",
    "aiex.npu.address_patch": "[? ( operand : type ) ]? [? addr operand : type ]? attrs",
    "aiex.npu.blockwrite": "( operand ) attrs : type",
    "aiex.npu.dma_wait": "attrs",
    "aiex.npu.load_pdi": "attrs",
    "aiex.npu.maskwrite32": "[? ( operand , operand , operand ) ]? attrs [? : types ]?",
    "aiex.npu.preempt": "attrs",
    "aiex.npu.push_queue": "( int:column , int:row , word:direction : int:channel ) "
    "[? bd_id operand repeat operand ]? attrs [? : types ]?",
    "aiex.npu.rtp_write": "( [? int:column , int:row , ]? [? symbol:buffer , ]? int:index , "
    "amount:value ) attrs [? : type ]?",
    "aiex.npu.sync": "[? ( operands ) ]? attrs [? : types ]?",
    "aiex.npu.write32": "[? ( operand , operand ) ]? attrs [? : types ]?",
    "aiex.npu.writebd": "attrs",
    "aiex.run": "symbol:runtime_sequence_symbol ( operands ) : ( types ) attrs",
    "aiex.set_lock": "( operand , amount:value ) attrs",
}
